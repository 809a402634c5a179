// One label and how sure, in words (S2-01).

import { h, keyHint } from "../dom.js";
import { pickButtons } from "../labels.js";
import { knows } from "../texts.js";

const LEVELS = { guessing: 0.5, probably: 0.75, definitely: 1 };

export function makeForm({ trial, options, word, changed }) {
  const levels = Object.keys(options.levels ?? LEVELS);
  const keys = levels.map((level, place) => (levels.findIndex((other) => other[0] === level[0]) === place ? level[0].toLowerCase() : ""));
  let choice = null;
  const picker = pickButtons({ trial, word, toggled: choose });
  const radios = levels.map((level) => h("input", { type: "radio", name: "confidence", value: level, "data-input": "confidence" }));
  const element = h(
    "form",
    { class: "answer", onsubmit: (event) => event.preventDefault() },
    picker.area(),
    h(
      "fieldset",
      { class: "points", "data-field": "confidence" },
      h("legend", {}, word("confidence")),
      ...levels.map((level, place) => h("label", { class: "point" }, radios[place], h("span", {}, knows(level) ? word(level) : level), keyHint(keys[place].toUpperCase()))),
    ),
  );
  function choose(name) {
    choice = name;
    picker.mark((other) => other === name);
    changed(name);
  }
  const level = () => radios.find((radio) => radio.checked)?.value ?? null;
  return {
    element,
    draft: () => ({ choice, confidence: level() }),
    read() {
      if (choice === null) return { problem: word("choose-first") };
      if (level() === null) return { problem: word("say-confidence"), field: "confidence" };
      return { answer: { choice, confidence: level() } };
    },
    fill(draft) {
      choice = draft.choice;
      picker.mark((name) => name === choice);
      for (const radio of radios) radio.checked = radio.value === draft.confidence;
    },
    key(event) {
      const place = event.target.type === "search" || trial.classes.length > 14 ? -1 : keys.indexOf(event.key.toLowerCase());
      if (place >= 0) {
        radios[place].focus();
        radios[place].click();
        return true;
      }
      return picker.key(event) ?? false;
    },
  };
}
