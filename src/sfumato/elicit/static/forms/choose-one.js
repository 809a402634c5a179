// One label: a click or a number key is the answer. Labels stand around the image (S0-01).

import { h } from "../dom.js";
import { MANY, pickButtons } from "../labels.js";

export function makeForm({ trial, pictures, changed, submit, word }) {
  let chosen = null;
  const picker = pickButtons({ trial, word, toggled: choose, oneEach: true });

  function choose(name) {
    chosen = name;
    mark();
    changed(name);
    submit();
  }
  const mark = () => picker.mark((name) => name === chosen);
  const isLong = trial.classes.length > MANY || Object.keys(trial.question.groups).length > 0;
  const images = h("div", { class: "images" }, ...pictures);

  return {
    layout: "own",
    oneClick: true,
    element: h(
      "div",
      { class: isLong ? "answer long" : "answer", role: "group", "aria-label": word("labels") },
      ...(isLong ? [images, picker.area()] : around(picker.elements, images)),
    ),
    read: () => (chosen === null ? { problem: word("choose-first") } : { answer: chosen }),
    fill(draft) {
      chosen = draft;
      mark();
    },
    key: (event) => picker.key(event) ?? false,
  };
}

// In reading order: above, left, right, below.
function around(buttons, images) {
  const side = Math.max(1, Math.round(0.3 * buttons.length));
  const above = Math.ceil((buttons.length - 2 * side) / 2);
  const ends = [above, above + side, above + 2 * side, buttons.length];
  const part = (name, from, to) => h("div", { class: name }, ...buttons.slice(from, to));
  return [
    part("above", 0, ends[0]),
    part("left", ends[0], ends[1]),
    images,
    part("right", ends[1], ends[2]),
    part("below", ends[2], ends[3]),
  ];
}
