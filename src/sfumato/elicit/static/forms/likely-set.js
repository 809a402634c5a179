// Every label that is likely (S2-01).

import { h } from "../dom.js";
import { pickButtons } from "../labels.js";

export function makeForm({ trial, word, changed }) {
  const { classes } = trial;
  let picked = [];
  const picker = pickButtons({ trial, word, toggled: toggle });
  function toggle(name) {
    picked = picked.includes(name) ? picked.filter((other) => other !== name) : [...picked, name];
    picker.mark((other) => picked.includes(other));
    changed(name);
  }
  const told = () => classes.filter((name) => picked.includes(name));
  return {
    element: h("div", { class: "answer" }, picker.area()),
    draft: told,
    read: () => (picked.length === 0 ? { problem: word("choose-first") } : { answer: told() }),
    fill(draft) {
      picked = [...draft];
      picker.mark((name) => picked.includes(name));
    },
    key: (event) => picker.key(event) ?? false,
  };
}
