// A labelled slider with its value in words. Native, so arrow keys, Page Up and touch work.

import { h } from "./dom.js";

// `start` null: nothing is said until it is moved; the thumb is then pale and in the middle.
export function slider({ name, label, key, max, start, low, high, say, unset }) {
  const steps = 100;
  const input = h("input", {
    type: "range",
    min: 0,
    max: steps,
    step: 1,
    "data-input": name,
    "aria-label": label,
  });
  const output = h("output", { "aria-hidden": "true" });
  let said = start !== null;

  function paint() {
    const text = said ? say(value()) : unset;
    output.textContent = text;
    input.setAttribute("aria-valuetext", text);
    input.classList.toggle("unset", !said);
    input.style.setProperty("--at", `${(input.value / steps) * 100}%`);
  }
  const value = () => Number(((input.value / steps) * max).toFixed(6));
  const settle = () => {
    said = true;
    paint();
  };
  input.addEventListener("input", settle);
  input.addEventListener("pointerup", settle);
  input.addEventListener("keydown", (event) => event.key === " " && settle());
  input.value = start === null ? steps / 2 : (start / max) * steps;
  paint();

  const ends = low && h("span", { class: "ends", "aria-hidden": "true" }, h("span", {}, low), h("span", {}, high));
  return {
    input,
    row: h(
      "label",
      { class: "slider" },
      h("span", { class: "name" }, key === undefined ? null : h("kbd", { "aria-hidden": "true" }, key), label),
      h("span", { class: "track" }, input, ends || ""),
      output,
    ),
    said: () => said,
    value,
    set(number) {
      input.value = (number / max) * steps;
      settle();
    },
  };
}

export const shortNumber = (number) => String(Number(number.toFixed(2)));
export const percent = (share) => `${Math.round(100 * share)} %`;
