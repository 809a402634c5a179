// How typical the image is of the class shown with it, on one slider (S1-02).

import { h } from "../dom.js";
import { shortNumber, slider } from "../slider.js";

export function makeForm({ trial, options, word }) {
  const shownClass = trial.shown.class;
  const one = slider({
    name: "typicality",
    label: word("typicality-of", { name: shownClass }),
    max: options.scale ?? 1,
    start: null,
    low: word("not-typical"),
    high: word("typical"),
    say: shortNumber,
    unset: "–",
  });
  return {
    layout: "stack",
    element: h("div", { class: "answer" }, one.row),
    read: () =>
      one.said() ? { answer: { class: shownClass, typicality: one.value() } } : { problem: word("move-slider") },
    draft: () => (one.said() ? { typicality: one.value() } : null),
    fill: (draft) => one.set(draft.typicality),
    key: (event) => focusOnArrow(event, one.input),
  };
}

// The arrow keys work before anything has the focus.
export function focusOnArrow(event, input) {
  if (!event.key.startsWith("Arrow") || event.target.type === "range") return false;
  input.focus();
  if (event.key === "ArrowLeft" || event.key === "ArrowDown") input.stepDown();
  else input.stepUp();
  input.dispatchEvent(new Event("input", { bubbles: true }));
  input.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}
