// One point of a scale; the classes are its points, from low to high.

import { digit, h } from "../dom.js";

// Also the scale of similar pairs, whose points are numbers.
export function scale({ points, label, low, high, field, word, keys }) {
  const radios = points.map((point) => h("input", { type: "radio", name: "rating", value: point, "data-input": "rating" }));
  const element = h(
    "form",
    { class: "answer", onsubmit: (event) => event.preventDefault() },
    h(
      "fieldset",
      { class: points.some((point) => String(point).length > 3) ? "scale of-words" : "scale" },
      h("legend", { class: "hidden" }, label),
      h("div", { class: "points" }, ...points.map((point, place) => h("label", { class: "point" }, radios[place], h("span", {}, String(point))))),
      low ? h("p", { class: "ends", "aria-hidden": "true" }, h("span", {}, low), h("span", {}, high)) : "",
    ),
  );
  const chosen = () => points[radios.findIndex((radio) => radio.checked)];
  const told = () => (field ? { [field]: chosen() } : chosen());
  return {
    layout: "stack",
    element,
    read: () => (chosen() === undefined ? { problem: word("choose-point") } : { answer: told() }),
    draft: () => (chosen() === undefined ? null : told()),
    fill(draft) {
      const said = field ? draft[field] : draft;
      radios.forEach((radio, place) => (radio.checked = points[place] === said));
    },
    key(event) {
      if (event.shiftKey) return false;
      const place = keys(event);
      if (!radios[place]) return false;
      radios[place].focus();
      radios[place].click();
      return true;
    },
  };
}

export const makeForm = ({ trial, word }) =>
  scale({ points: trial.classes, label: word("rating"), word, keys: (event) => digit(event, trial.classes.length) });
