// Which of two images is closer to a third, or better: a click on it, or an arrow key (S1-04).

import { h, keyHint } from "../dom.js";

const SIDES = ["first", "second", "tie"];
const KEYS = { ArrowLeft: 0, ArrowRight: 1, ArrowDown: 2, "=": 2 };

export function makeForm({ trial, pictures, options, word, changed, submit }) {
  const field = trial.question.form === "preference" ? "preferred" : "closer";
  let said = null;
  const two = pictures.slice(-2);
  const above = pictures.slice(0, -2);
  for (const item of above) item.alt = word("image-above");
  const button = (place, ...content) =>
    h(
      "button",
      {
        type: "button",
        class: "choice",
        "aria-pressed": "false",
        "data-input": SIDES[place],
        onclick: (event) => event.detail > 1 || choose(place),
      },
      ...content,
      keyHint(["←", "→", "↓"][place]),
    );
  const buttons = two.map((picture, place) => {
    picture.alt = word(place === 0 ? "left" : "right");
    picture.removeAttribute("tabindex"); // the button has the focus
    return button(place, picture);
  });
  const tie = field === "preferred" && (options.tie ?? true) ? [button(2, h("span", {}, word("tie")))] : [];

  function choose(place) {
    said = SIDES[place];
    mark();
    changed(said);
    submit();
  }
  function mark() {
    [...buttons, ...tie].forEach((one, place) => one.setAttribute("aria-pressed", String(SIDES[place] === said)));
  }

  return {
    layout: "own",
    oneClick: true,
    element: h(
      "div",
      { class: above.length ? "answer" : "answer only-two" },
      above.length ? h("div", { class: "images" }, ...above) : "",
      h("div", { class: "two", role: "group", "aria-label": word(field) }, ...buttons),
      ...tie,
    ),
    read: () => (said === null ? { problem: word("choose-first") } : { answer: { [field]: said } }),
    fill(draft) {
      said = draft[field];
      mark();
    },
    key(event) {
      const place = KEYS[event.key];
      if (place === undefined || event.repeat || !([...buttons, ...tie][place])) return false;
      [...buttons, ...tie][place].focus();
      choose(place);
      return true;
    },
  };
}
