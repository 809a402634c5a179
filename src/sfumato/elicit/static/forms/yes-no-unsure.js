// Yes, no or unsure for every class (S4-01).

import { digit, h, keyHint, keyOf } from "../dom.js";

const SAID = ["yes", "no", "unsure"];
const KEYS = { y: "yes", n: "no", u: "unsure" };

export function makeForm({ trial, word }) {
  const { classes } = trial;
  const rows = classes.map((name, place) =>
    h(
      "fieldset",
      { class: "three" },
      h("legend", {}, keyHint(keyOf(place)), name),
      ...SAID.map((said) =>
        h(
          "label",
          { class: "option" },
          h("input", { type: "radio", name: `class-${place}`, value: said, "data-input": name }),
          h("span", {}, word(said)),
        ),
      ),
    ),
  );
  const element = h(
    "form",
    { class: "answer", onsubmit: (event) => event.preventDefault() },
    h("p", { class: "remark keys", "aria-hidden": "true" }, word("three-keys")),
    ...rows,
  );
  const inputs = (place) => [...rows[place].querySelectorAll("input")];
  const said = (place) => inputs(place).find((input) => input.checked)?.value;
  const firstOpen = () => classes.findIndex((_, place) => said(place) === undefined);

  let current = 0;
  function goTo(place) {
    current = place;
    rows.forEach((row, other) => row.toggleAttribute("data-current", other === place));
  }
  element.addEventListener("focusin", ({ target }) => goTo(Number(target.name.split("-")[1])));
  goTo(0);

  const told = () =>
    Object.fromEntries(classes.map((name, place) => [name, said(place)]).filter(([, value]) => value));

  return {
    element,
    draft: told,
    read() {
      const open = firstOpen();
      // What is missing is refused in "guarded" and counted in "faithful"; nothing at all is neither.
      const nothing = classes.every((_, place) => said(place) === undefined);
      if (open >= 0 && (trial.mode === "guarded" || nothing)) {
        inputs(open)[0].focus();
        return { problem: word("open-class", { name: classes[open] }) };
      }
      return { answer: told() };
    },
    fill(draft) {
      classes.forEach((name, place) => {
        for (const input of inputs(place)) input.checked = input.value === draft[name];
      });
    },
    key(event) {
      const place = digit(event, classes.length);
      if (place >= 0) {
        (inputs(place).find((input) => input.checked) ?? inputs(place)[0]).focus();
        return true;
      }
      const value = KEYS[event.key.toLowerCase()];
      if (!value) return false;
      const input = inputs(current).find((one) => one.value === value);
      input.focus();
      input.click();
      if (current + 1 < classes.length) {
        const next = inputs(current + 1);
        (next.find((one) => one.checked) ?? next[0]).focus();
      }
      return true;
    },
  };
}
