// One's own answer first; then what others are expected to say, drawn with chips.

import { h } from "../dom.js";
import { pickButtons } from "../labels.js";
import { makeForm as makeBuilder } from "./distribution.js";

export function makeForm(given) {
  const { trial, word, changed } = given;
  const builder = makeBuilder(given);
  const picker = pickButtons({ trial, word, toggled: choose });
  let own = null;
  const said = h("p", { class: "remark", tabindex: -1 });
  const first = h("div", { class: "step-one" }, h("p", { class: "remark" }, word("own")), picker.area());
  const second = h("div", { class: "step-two", hidden: true }, said, builder.element);
  builder.element.className = "drawn";
  const element = h("div", { class: "answer", "data-field": "own" }, first, second);

  function choose(name) {
    changed(`own: ${name}`);
    put(name);
    said.focus();
  }
  function put(name) {
    own = name;
    picker.mark((other) => other === name);
    first.hidden = name !== null;
    second.hidden = name === null;
    said.replaceChildren(word("others", { name: name ?? "" }), " ", h("button", { type: "button", class: "small", "data-input": "own", onclick: () => put(null) }, word("change")));
  }
  put(null);

  return {
    element,
    draft: () => ({ own, others: builder.draft() }),
    read() {
      if (own === null) return { problem: word("choose-first"), field: "own" };
      const { answer, problem } = builder.read();
      return problem ? { problem } : { answer: { own, others: answer } };
    },
    fill(draft) {
      builder.fill(draft.others);
      put(draft.own);
    },
    key: (event) => (own === null ? (picker.key(event) ?? false) : builder.key(event)),
  };
}
