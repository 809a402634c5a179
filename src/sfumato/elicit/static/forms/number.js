// A number between two ends, on one slider; the classes are points along the way.

import { h } from "../dom.js";
import { shortNumber, slider } from "../slider.js";
import { focusOnArrow } from "./typicality.js";

export function makeForm({ trial, options, word }) {
  const { classes } = trial;
  const named = classes.map(Number);
  const values = options.values ?? (named.some(Number.isNaN) ? classes.map((_, place) => place + 1) : named);
  const [low, high] = [values[0], values.at(-1)];
  const real = (share) => Number((low + share).toFixed(6));
  const one = slider({
    name: "number",
    label: word("number"),
    max: high - low,
    start: null,
    low: classes[0],
    high: classes.at(-1),
    say: (share) => shortNumber(real(share)),
    unset: "–",
  });
  return {
    layout: "stack",
    element: h("div", { class: "answer" }, one.row),
    read: () => (one.said() ? { answer: real(one.value()) } : { problem: word("move-slider") }),
    draft: () => (one.said() ? real(one.value()) : null),
    fill: (draft) => one.set(draft - low),
    key: (event) => focusOnArrow(event, one.input),
  };
}
