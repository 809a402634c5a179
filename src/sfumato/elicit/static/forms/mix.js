// How much of each of two classes a mixed image holds, and how sure one is (S2-08).

import { digit, h } from "../dom.js";
import { percent, slider } from "../slider.js";
import { focusOnArrow } from "./typicality.js";

export function makeForm({ trial, options, word }) {
  const [first, second] = trial.shown.classes;
  const asksConfidence = options.confidence ?? true;
  // The left end is all of the first class, so the slider shows the share of the second.
  const mix = slider({
    name: "perceived",
    label: word("combination"),
    max: 1,
    start: null,
    low: first,
    high: second,
    say: (share) => `${percent(1 - share)} ${first}, ${percent(share)} ${second}`,
    unset: "–",
  });
  const sure = slider({
    name: "confidence",
    label: word("confidence"),
    max: 1,
    start: null,
    low: word("not-confident"),
    high: word("confident"),
    say: percent,
    unset: "–",
  });
  mix.row.classList.add("between"); // no end is more than the other: nothing is filled
  const asked = asksConfidence ? [mix, sure] : [mix];
  return {
    layout: "stack",
    element: h("div", { class: "answer" }, ...asked.map(({ row }) => row)),
    read() {
      if (!asked.every((one) => one.said())) return { problem: word(asksConfidence ? "move-both" : "move-slider") };
      const perceived = Number((1 - mix.value()).toFixed(6));
      return { answer: asksConfidence ? { perceived, confidence: sure.value() } : { perceived } };
    },
    draft: () => ({
      perceived: mix.said() ? 1 - mix.value() : null,
      confidence: sure.said() ? sure.value() : null,
    }),
    fill({ perceived, confidence = null }) {
      if (perceived !== null) mix.set(1 - perceived);
      if (confidence !== null) sure.set(confidence);
    },
    key(event) {
      const place = digit(event, asked.length);
      if (place < 0) return focusOnArrow(event, mix.input);
      asked[place].input.focus();
      return true;
    },
  };
}
