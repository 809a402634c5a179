// One colour for each class, everywhere; and the bars that show shares of them.

import { h } from "/static/dom.js";

// Neighbours differ in hue and in lightness, so that ten classes can be told apart on both papers.
const HUES = [255, 55, 150, 345, 95, 210, 25, 300, 125, 180, 275, 75];
const LIGHTER = [0, 0.08, -0.02, 0.04, 0.1, 0.06, -0.06, -0.06, 0.02, -0.08, 0.1, -0.1];

export function paint(element, place) {
  const round = Math.floor(place / HUES.length);
  element.style.setProperty("--h", (HUES[place % HUES.length] + 17 * round) % 360);
  element.style.setProperty("--dl", LIGHTER[(place + 5 * round) % LIGHTER.length]);
  return element;
}

export const percent = (share) => {
  const rounded = Math.round(100 * share);
  return rounded === 0 && share > 0 ? "<1 %" : `${rounded} %`;
};

// Shares beside each other, the largest first; what is not drawn is grey.
export function bar(shares, classes) {
  const parts = shares.map(([place, share]) => {
    const part = paint(h("i", { title: `${classes[place]} ${percent(share)}` }), place);
    part.style.width = `${100 * share}%`;
    return part;
  });
  return h("div", { class: "bar", "aria-hidden": "true" }, parts);
}

// The same in words.
export function words(shares, classes, most = 3) {
  const told = shares.slice(0, most).map(([place, share]) =>
    h("span", { class: "said" }, paint(h("i", { class: "dot", "aria-hidden": "true" }), place),
      h("span", {}, classes[place]), share > 0.995 ? null : h("span", { class: "soft" }, ` ${percent(share)}`)));
  const rest = shares.length - most;
  if (rest > 0) told.push(h("span", { class: "said soft" }, `+${rest}`));
  return h("p", { class: "words" }, told);
}

export const number = (value, name) => {
  if (value === null || value === undefined) return "–";
  if (name === "answers" || name === "item") return value.toLocaleString("en");
  if (name === "seconds") return `${value.toFixed(1)} s`;
  return value.toFixed(3);
};
