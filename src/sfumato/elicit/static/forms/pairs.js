// How similar two images are, on a scale of whole numbers (S1-03).

import { digit, h } from "../dom.js";

const MOST_POINTS = 21;

export function makeForm({ options, word }) {
  const [low, high] = options.scale ?? [0, 6];
  const points = Array.from({ length: Math.min(high - low + 1, MOST_POINTS) }, (_, place) =>
    high - low < MOST_POINTS ? low + place : Math.round(low + (place * (high - low)) / (MOST_POINTS - 1)),
  );
  const radios = points.map((point) => h("input", { type: "radio", name: "rating", value: point, "data-input": "rating" }));
  const element = h(
    "form",
    { class: "answer", onsubmit: (event) => event.preventDefault() },
    h(
      "fieldset",
      { class: "scale" },
      h("legend", { class: "hidden" }, word("similarity")),
      h(
        "div",
        { class: "points" },
        ...points.map((point, place) => h("label", { class: "point" }, radios[place], h("span", {}, String(point)))),
      ),
      h("p", { class: "ends", "aria-hidden": "true" }, h("span", {}, word("dissimilar")), h("span", {}, word("similar"))),
    ),
  );
  const chosen = () => radios.find((radio) => radio.checked);
  return {
    layout: "stack",
    element,
    read: () => (chosen() ? { answer: { rating: Number(chosen().value) } } : { problem: word("choose-point") }),
    draft: () => (chosen() ? { rating: Number(chosen().value) } : null),
    fill(draft) {
      for (const radio of radios) radio.checked = Number(radio.value) === draft.rating;
    },
    key(event) {
      if (event.shiftKey) return false;
      // The key with the number of the point; digit() counts 1 as the first and 0 as the tenth.
      const place = points.indexOf((digit(event, 10) + 1) % 10);
      if (digit(event, 10) < 0 || place < 0) return false;
      radios[place].focus();
      radios[place].click();
      return true;
    },
  };
}
