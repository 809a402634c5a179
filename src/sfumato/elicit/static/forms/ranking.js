// Labels in order of likelihood, the most likely first (S2-01).

import { h } from "../dom.js";
import { pickButtons } from "../labels.js";

export function makeForm({ trial, word, changed }) {
  let order = [];
  const picker = pickButtons({ trial, word, toggled: toggle });
  const ranked = h("ol", { class: "ranked", "aria-label": word("your-order") });
  const element = h("div", { class: "answer" }, picker.area(), ranked);

  function toggle(name) {
    order = order.includes(name) ? order.filter((other) => other !== name) : [...order, name];
    changed(name);
    paint();
  }
  function move(place, by) {
    const [name] = order.splice(place, 1);
    order.splice(place + by, 0, name);
    changed(name);
    paint();
    ranked.children[place + by].querySelector(by < 0 ? ".up" : ".down")?.focus();
  }
  function paint() {
    picker.mark((name) => order.includes(name));
    ranked.replaceChildren(...order.map(row));
  }
  function row(name, place) {
    const step = (kind, sign, by, possible) =>
      h("button", { type: "button", class: `step ${kind}`, "data-input": name, "aria-label": `${word(kind)}: ${name}`, disabled: !possible, onclick: () => move(place, by) }, sign);
    return h("li", {}, h("span", {}, name), step("up", "↑", -1, place > 0), step("down", "↓", 1, place < order.length - 1));
  }

  return {
    element,
    draft: () => [...order],
    read: () => (order.length === 0 ? { problem: word("choose-first") } : { answer: [...order] }),
    fill(draft) {
      order = [...draft];
      paint();
    },
    key: (event) => picker.key(event) ?? false,
  };
}
