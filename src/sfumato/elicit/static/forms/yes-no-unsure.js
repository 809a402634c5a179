// Yes, no or unsure for every class (S4-01); where classes have groups, for each group first.

import { h, keyHint, keyOf } from "../dom.js";
import { labelList } from "../labels.js";

const SAID = ["yes", "no", "unsure"];
const KEYS = { y: "yes", n: "no", u: "unsure" };

export function makeForm({ trial, word, changed }) {
  const { classes } = trial;
  const groups = Object.entries(trial.question.groups);
  const row = (name, key) =>
    h(
      "fieldset",
      { class: "three" },
      h("legend", {}, h("kbd", { "aria-hidden": "true" }, key), name),
      ...SAID.map((said) =>
        h(
          "label",
          { class: "option" },
          h("input", { type: "radio", name: key === null ? `group ${name}` : `class ${name}`, value: said, "data-input": name }),
          h("span", {}, word(said)),
        ),
      ),
    );
  const rows = new Map(classes.map((name, place) => [name, row(name, keyOf(place))]));
  const first = new Map(groups.map(([group]) => [group, row(group, null)]));
  for (const line of first.values()) line.classList.add("of-group");
  const inputs = (line) => [...line.querySelectorAll("input")];
  const said = (line) => inputs(line).find((input) => input.checked)?.value;
  const say = (line, value) => {
    for (const input of inputs(line)) input.checked = input.value === value;
  };
  const list = labelList({
    trial,
    word,
    elements: [...rows.values()],
    asked: {
      element: (group) => first.get(group),
      isOpen: (group) => ["yes", "unsure"].includes(said(first.get(group))),
    },
  });
  const rest = () => {
    for (const line of [...first.values(), ...rows.values()]) if (!said(line)) say(line, "no");
    changed("rest");
    list.paint();
  };
  const element = h(
    "form",
    { class: "answer", onsubmit: (event) => event.preventDefault() },
    h(
      "div",
      { class: "over" },
      h("p", { class: "remark keys", "aria-hidden": "true" }, word("three-keys")),
      h("button", { type: "button", class: "small", "data-input": "rest", onclick: rest }, keyHint("R"), word("rest-no")),
    ),
    ...list.search,
    ...list.items,
  );

  element.addEventListener("change", ({ target }) => {
    if (!target.name?.startsWith("group ")) return;
    // No to a group is no to all that is in it.
    const names = trial.question.groups[target.name.slice(6)];
    for (const name of names) say(rows.get(name), target.value === "no" ? "no" : undefined);
    list.paint();
  });

  const lines = () => [...element.querySelectorAll(".three:not([hidden])")];
  let current = null;
  function goTo(line) {
    current = line;
    for (const other of [...rows.values(), ...first.values()]) other.toggleAttribute("data-current", other === line);
  }
  const focusOn = (line) => (inputs(line).find((input) => input.checked) ?? inputs(line)[0]).focus();
  element.addEventListener("focusin", ({ target }) => target.closest(".three") && goTo(target.closest(".three")));
  goTo(lines()[0]);

  const told = () => Object.fromEntries(classes.map((name) => [name, said(rows.get(name))]).filter(([, value]) => value));

  return {
    element,
    draft: told,
    read() {
      // What is missing is refused in "guarded" and counted in "faithful"; nothing at all is neither.
      const open = [...first, ...rows].find(([, line]) => !line.hidden && !said(line)) ?? [...rows].find(([, line]) => !said(line));
      if (open && (trial.mode === "guarded" || Object.keys(told()).length === 0)) {
        focusOn(open[1].hidden ? lines()[0] : open[1]);
        return { problem: word("open-class", { name: open[0] }) };
      }
      return { answer: told() };
    },
    fill(draft) {
      for (const [name, line] of rows) say(line, draft[name]);
      for (const [group, names] of groups) {
        const given = names.map((name) => draft[name]).filter(Boolean);
        if (given.length) say(first.get(group), names.every((name) => draft[name] === "no") ? "no" : "yes");
      }
      list.paint();
    },
    key(event) {
      const taken = list.key(event);
      if (taken !== null) return taken;
      const place = list.place(event);
      if (place >= 0) {
        focusOn(rows.get(classes[place]));
        return true;
      }
      if (event.key.toLowerCase() === "r") {
        rest();
        return true;
      }
      const value = KEYS[event.key.toLowerCase()];
      if (!value) return false;
      const input = inputs(current).find((one) => one.value === value);
      input.focus();
      input.click();
      const next = lines()[lines().indexOf(current) + 1];
      if (next) focusOn(next);
      return true;
    },
  };
}
