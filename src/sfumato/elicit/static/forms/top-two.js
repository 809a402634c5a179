// Most probable and second most probable label in percent, and what the image is not (S2-02).
//
// In the mode "faithful" what is typed is sent as it was typed. In "guarded" a contradiction is
// pointed out as soon as it is there, and nothing is sent before it is gone.

import { h, keyHint, keyOf } from "../dom.js";
import { labelList } from "../labels.js";
import { t } from "../texts.js";

export function makeForm({ trial, options, word, prompts, changed, say, submit }) {
  const { classes } = trial;
  const scale = options.scale ?? 100;
  const guarded = trial.mode === "guarded";
  const caption = h("p", { class: "caption", "aria-hidden": "true" });

  const option = (kind, name, value, label, key) =>
    h(
      "label",
      { class: "option" },
      h("input", { type: kind, name, value, "data-input": name }),
      h("kbd", { "aria-hidden": "true" }, key),
      h("span", {}, label),
    );
  const options_of = (kind, name) => classes.map((label, place) => option(kind, name, place, label, keyOf(place)));
  const choices = { first: options_of("radio", "first"), second: options_of("radio", "second"), ruled_out: options_of("checkbox", "ruled_out") };
  // One search for the three columns: what is hidden in one is hidden in all.
  const together = classes.map((_, place) => new Together(Object.values(choices).map((column) => column[place])));
  const list = labelList({ trial: { ...trial, question: { groups: {} } }, elements: together, word, choose: (name) => pickHere(name) });
  // The whole question where there is room, a short one and the whole as caption where not.
  const asked = (name) => [h("span", { class: "short" }, t(`short-${name}`)), h("span", { class: "long" }, word(name))];
  const percent = (name) =>
    h(
      "label",
      { class: "percent", "data-field": name },
      ...asked(name),
      h(
        "span",
        { class: "box" },
        h("input", { type: "text", inputmode: "decimal", autocomplete: "off", name, "data-input": name, maxlength: 2000 }),
        scale === 100 ? " %" : ` / ${scale}`,
      ),
    );
  const column = (name, inputs, box) =>
    h("div", { class: `column ${name}` }, h("fieldset", { "data-field": name }, h("legend", {}, ...asked(name)), ...inputs), box ?? "");

  const columns = {
    first: column("first", choices.first, percent("first_percent")),
    second: column(
      "second",
      [...choices.second, option("radio", "second", "none", word("no-alternative"), "N")],
      percent("second_percent"),
    ),
    ruled_out: column("ruled_out", choices.ruled_out),
  };
  // A paper's whole questions need more room than our short words.
  const kind = prompts.first ? "answer long-words" : "answer";
  const element = h("form", { class: kind, onsubmit: (event) => event.preventDefault() }, caption, ...list.search, ...Object.values(columns));
  const inputs = (name) => [...element.querySelectorAll(`input[name="${name}"]`)];
  const box = (name) => inputs(name)[0];

  let current = "first";
  function goTo(name) {
    current = name;
    for (const [other, place] of Object.entries(columns)) place.toggleAttribute("data-current", other === name);
  }
  function explain(name) {
    caption.textContent = word(name);
  }
  element.addEventListener("focusin", ({ target }) => {
    if (!target.name) return; // the search box
    goTo(target.name.replace("_percent", ""));
    explain(target.name);
  });
  element.addEventListener("input", () => {
    if (!guarded) return;
    const faults = contradictions(value(), scale);
    say(faults.map(sentence).join(" "), faults[0]?.[1]);
  });
  goTo("first");
  explain("first");

  function value() {
    const picked = (name) => inputs(name).find((input) => input.checked)?.value;
    const first = picked("first");
    const second = picked("second");
    return {
      first: first === undefined ? null : classes[first],
      first_percent: box("first_percent").value,
      second: second === undefined || second === "none" ? null : classes[second],
      second_percent: box("second_percent").value,
      ruled_out: inputs("ruled_out").filter((input) => input.checked).map((input) => classes[input.value]),
    };
  }

  function read() {
    const answer = value();
    if (answer.first === null) return { problem: word("choose-first"), field: "first" };
    if (!guarded) return { answer };
    const faults = [...contradictions(answer, scale), ...gaps(answer)];
    if (faults.length === 0) return { answer };
    return { problem: faults.map(sentence).join(" "), field: faults[0][1] };
  }

  function pick(name, place) {
    const input = inputs(name)[place];
    input.focus();
    input.click(); // so that listeners hear of it
  }

  function pickHere(name) {
    pick(current, classes.indexOf(name));
    if (current !== "ruled_out") box(`${current}_percent`).focus();
  }

  return {
    element,
    read,
    draft: () => ({ ...value(), none: inputs("second").at(-1).checked }),
    fill(draft) {
      const check = (name, label) => inputs(name)[classes.indexOf(label)]?.toggleAttribute("checked", true);
      check("first", draft.first);
      if (draft.second) check("second", draft.second);
      else if (draft.none ?? true) inputs("second").at(-1).toggleAttribute("checked", true);
      for (const label of draft.ruled_out ?? []) check("ruled_out", label);
      for (const name of ["first_percent", "second_percent"]) box(name).value = draft[name] ?? "";
    },
    // Number, percent, Enter; number, percent, Enter; numbers; Enter.
    key(event, typing) {
      const taken = typing && event.target.name ? null : list.key(event);
      if (taken !== null) return taken;
      if (event.key === "Enter" && typing) {
        const next = event.target.name === "first_percent" ? "second" : "ruled_out";
        inputs(next)[0].focus();
        return true;
      }
      if (typing || event.shiftKey || event.repeat) return false;
      if (current === "second" && event.key.toLowerCase() === "n") {
        pick("second", classes.length);
        inputs("ruled_out")[0].focus();
        return true;
      }
      const place = list.place(event);
      if (place < 0) return false;
      pickHere(classes[place]);
      return true;
    },
  };

  function sentence([name]) {
    return t(`fault-${name}`, { scale });
  }
}

class Together {
  constructor(elements) {
    this.elements = elements;
  }
  set hidden(isHidden) {
    for (const element of this.elements) element.hidden = isHidden;
  }
  querySelector(selector) {
    const found = this.elements.map((element) => element.querySelector(selector));
    return { replaceChildren: (...texts) => found.forEach((one) => one.replaceChildren(...texts)) };
  }
}

const number = (typed) => (typed.trim() === "" ? null : Number(typed.trim().replace(/%$/, "")));

// Pairs of a fault and its field. They mirror the server's, which has the last word.
function contradictions({ first, first_percent: typed, second, second_percent: typedSecond, ruled_out: ruledOut }, scale) {
  const mass = number(typed);
  const secondMass = number(typedSecond);
  const both = mass !== null && secondMass !== null && second !== null;
  const found = [];
  for (const [value, field] of [
    [mass, "first_percent"],
    [secondMass, "second_percent"],
  ]) {
    if (Number.isNaN(value)) found.push(["not-a-number", field]);
    else if (value !== null && (value < 0 || value > scale)) found.push(["out-of-range", field]);
  }
  if (first !== null && first === second) found.push(["same-class-twice", "second"]);
  else if (both && secondMass > mass) found.push(["second-above-first", "second_percent"]);
  if (both && first !== second && mass + secondMass > scale + 1e-6) found.push(["mass-over", "second_percent"]);
  if ([first, second].some((name) => name !== null && ruledOut.includes(name))) {
    found.push(["chosen-and-ruled-out", "ruled_out"]);
  }
  return found;
}

// What is only missing is not said while somebody is still at it.
function gaps({ first_percent: typed, second, second_percent: typedSecond }) {
  const found = [];
  if (number(typed) === null) found.push(["class-without-percent", "first_percent"]);
  if (number(typed) === 0) found.push(["zero-for-the-choice", "first_percent"]);
  if (second !== null && number(typedSecond) === null) found.push(["class-without-percent", "second_percent"]);
  if (second === null && number(typedSecond) !== null) found.push(["percent-without-class", "second"]);
  return found;
}
