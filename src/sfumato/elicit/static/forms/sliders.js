// One slider a class, from not at all to completely matching (S1-01); with `subset` only some.

import { h, keyOf } from "../dom.js";
import { labelList } from "../labels.js";
import { shortNumber, slider } from "../slider.js";

export function makeForm({ trial, options, word }) {
  const scale = options.scale ?? 1;
  const classes = options.subset ? trial.classes.filter((name) => options.subset.includes(name)) : trial.classes;
  let warned = false;
  let moved = false;
  const sliders = classes.map((name, place) =>
    slider({ name, label: name, key: keyOf(place), max: scale, start: 0, say: shortNumber }),
  );
  const list = labelList({ trial, classes, word, elements: sliders.map(({ row }) => row), letters: true });
  const element = h(
    "div",
    { class: "answer", role: "group", "aria-label": word("labels"), oninput: () => (moved = true) },
    h(
      "p",
      { class: "ends", "aria-hidden": "true" },
      h("span", {}, `0 ${word("not-matching")}`),
      h("span", {}, `${word("matching")} ${shortNumber(scale)}`),
    ),
    ...list.search,
    ...list.items,
  );
  return {
    element,
    read() {
      // Nothing need match, but that is also what somebody sends who has not looked.
      if (!moved && !warned) {
        warned = true;
        return { problem: word("nothing-moved") };
      }
      return { answer: Object.fromEntries(classes.map((name, place) => [name, sliders[place].value()])) };
    },
    draft: () => (moved ? Object.fromEntries(classes.map((name, place) => [name, sliders[place].value()])) : null),
    fill(draft) {
      moved = true;
      classes.forEach((name, place) => sliders[place].set(draft[name] ?? 0));
    },
    key(event) {
      const taken = list.key(event);
      if (taken !== null) return taken;
      const place = list.place(event);
      if (place < 0) return false;
      sliders[place].input.focus();
      return true;
    },
  };
}
