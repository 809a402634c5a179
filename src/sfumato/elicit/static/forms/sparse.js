// Sliders for the few most relevant classes, which the person picks (S1-06).

import { h } from "../dom.js";
import { pickButtons } from "../labels.js";
import { shortNumber, slider } from "../slider.js";

export function makeForm({ trial, options, word, changed, say }) {
  const scale = options.scale ?? 1;
  const most = options.count ?? 2;
  const picked = new Map(); // class to slider, in the order of picking
  const chosen = h("div", { class: "chosen" });
  const picker = pickButtons({ trial, word, toggled: (name) => toggle(name) });
  const element = h(
    "div",
    { class: "answer" },
    h("p", { class: "remark" }, word("pick", { count: most })),
    picker.area(),
    h("div", { class: "matching", role: "group", "aria-label": word("matching-of") }, chosen),
  );

  function toggle(name, value = null) {
    if (picked.has(name)) picked.delete(name);
    else if (picked.size < most) {
      const made = slider({
        name: `matching: ${name}`,
        label: name,
        max: scale,
        start: value,
        low: word("not-matching"),
        high: word("matching"),
        say: shortNumber,
        unset: "–",
      });
      picked.set(name, made);
    } else return say(word("picked-all", { count: most }));
    say("");
    changed(name);
    chosen.replaceChildren(...[...picked.values()].map(({ row }) => row));
    picker.mark((other) => picked.has(other));
    return picked.get(name)?.input.focus();
  }

  return {
    element,
    read() {
      if (picked.size === 0 || (picked.size < most && trial.mode === "guarded")) {
        return { problem: word("pick", { count: most }) };
      }
      const open = [...picked].find(([, one]) => !one.said());
      if (open) return { problem: word("move-slider-of", { name: open[0] }) };
      return { answer: Object.fromEntries([...picked].map(([name, one]) => [name, one.value()])) };
    },
    draft: () => Object.fromEntries([...picked].map(([name, one]) => [name, one.said() ? one.value() : null])),
    fill(draft) {
      for (const [name, value] of Object.entries(draft)) toggle(name, value);
    },
    key: (event) => picker.key(event) ?? false,
  };
}
