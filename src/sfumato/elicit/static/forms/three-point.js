// The lowest, the best and the highest probability of one of two classes; they never cross.

import { digit, h } from "../dom.js";
import { shortNumber, slider } from "../slider.js";
import { focusOnArrow } from "./typicality.js";

const NAMES = ["lower", "best", "upper"];

export function makeForm({ trial, options, word }) {
  const scale = options.scale ?? 100;
  const sliders = NAMES.map((name) =>
    slider({ name, label: word(name), max: scale, start: null, low: "0", high: shortNumber(scale), say: shortNumber, unset: "–" }),
  );
  const element = h("div", { class: "answer" }, ...sliders.map(({ row }) => row));
  // Whoever moves one past another takes it along.
  element.addEventListener("input", ({ target }) => {
    const moved = sliders.findIndex(({ input }) => input === target);
    const value = sliders[moved].value();
    sliders.forEach((one, place) => {
      if (one.said() && ((place < moved && one.value() > value) || (place > moved && one.value() < value))) one.set(value);
    });
  });
  const told = () => Object.fromEntries(NAMES.map((name, place) => [name, sliders[place].said() ? sliders[place].value() : null]));
  return {
    layout: "stack",
    element,
    draft: told,
    read: () => (sliders.every((one) => one.said()) ? { answer: told() } : { problem: word("move-all") }),
    fill: (draft) => NAMES.forEach((name, place) => draft[name] !== null && sliders[place].set(draft[name])),
    key(event) {
      const place = digit(event, sliders.length);
      if (place < 0) return focusOnArrow(event, sliders[0].input);
      sliders[place].input.focus();
      return true;
    },
  };
}
