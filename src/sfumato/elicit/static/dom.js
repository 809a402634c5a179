// Make elements. Texts become text nodes: nothing here can turn data into markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const find = (selector) => document.querySelector(selector);

// The place in a list that a number key stands for, or -1. The physical key counts: on some
// keyboards the digits are on the shifted side.
export function digit(event, count) {
  const match = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (!match) return -1;
  const place = (Number(match[1]) + 9) % 10;
  return place < count ? place : -1;
}

// What stands on the key for a place in a list; the second ten with ⇧, where a form takes it.
export const keyOf = (place, shifted = false) =>
  place < (shifted ? 20 : 10) ? (place < 10 ? "" : "⇧") + ((place + 1) % 10) : "";

export const keyHint = (text) => (text ? h("kbd", { "aria-hidden": "true" }, text) : null);

export const isTyping = (target) =>
  target instanceof HTMLTextAreaElement ||
  (target instanceof HTMLInputElement && ["text", "search"].includes(target.type));
