// Which of two images is closer to a third: a click on it, or an arrow key, is the answer (S1-04).

import { h, keyHint } from "../dom.js";

const SIDES = ["first", "second"];
const KEYS = { ArrowLeft: 0, ArrowRight: 1 };

export function makeForm({ pictures, word, changed, submit }) {
  let closer = null;
  const [item, ...two] = pictures;
  item.alt = word("image-above");
  const buttons = two.map((picture, place) => {
    picture.alt = word(place === 0 ? "left" : "right");
    picture.removeAttribute("tabindex"); // the button has the focus
    return h(
      "button",
      {
        type: "button",
        class: "choice",
        "aria-pressed": "false",
        "data-input": SIDES[place],
        onclick: (event) => event.detail > 1 || choose(place),
      },
      picture,
      keyHint(place === 0 ? "←" : "→"),
    );
  });

  function choose(place) {
    closer = SIDES[place];
    mark();
    changed(closer);
    submit();
  }
  function mark() {
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(SIDES[place] === closer)));
  }

  return {
    layout: "own",
    oneClick: true,
    element: h(
      "div",
      { class: "answer" },
      h("div", { class: "images" }, item),
      h("div", { class: "two", role: "group", "aria-label": word("closer") }, ...buttons),
    ),
    read: () => (closer === null ? { problem: word("choose-first") } : { answer: { closer } }),
    fill(draft) {
      closer = draft.closer;
      mark();
    },
    key(event) {
      if (!Object.hasOwn(KEYS, event.key) || event.repeat) return false;
      buttons[KEYS[event.key]].focus();
      choose(KEYS[event.key]);
      return true;
    },
  };
}
