// One label: a click or a number key is the answer. Labels stand around the image (S0-01).

import { digit, h, keyHint, keyOf } from "../dom.js";

const MOST_AROUND = 14;

export function makeForm({ trial, pictures, changed, submit, word }) {
  const { classes } = trial;
  let chosen = null;

  function choose(name) {
    chosen = name;
    mark();
    changed(name);
    submit();
  }
  function mark() {
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(classes[place] === chosen)));
  }
  const buttons = classes.map((name, place) =>
    h(
      "button",
      {
        type: "button",
        class: "choice",
        "data-input": name,
        "aria-pressed": "false",
        // The second half of a double click must not answer the next trial.
        onclick: (event) => event.detail > 1 || choose(name),
      },
      keyHint(keyOf(place)),
      h("span", {}, name),
    ),
  );

  return {
    layout: "own",
    oneClick: true,
    element: h("div", { class: "answer", role: "group", "aria-label": word("labels") }, ...around(buttons, pictures)),
    read: () => (chosen === null ? { problem: word("choose-first") } : { answer: chosen }),
    fill(draft) {
      chosen = draft;
      mark();
    },
    key(event) {
      const place = digit(event, classes.length);
      if (place < 0 || event.repeat || event.shiftKey) return false;
      buttons[place].focus();
      choose(classes[place]);
      return true;
    },
  };
}

// In reading order: above, left, right, below.
function around(buttons, pictures) {
  const images = h("div", { class: "images" }, ...pictures);
  if (buttons.length > MOST_AROUND) return [images, h("div", { class: "many" }, ...buttons)];
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
