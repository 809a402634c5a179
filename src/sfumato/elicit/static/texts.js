// The words of the page in the language of the study.

import { below } from "./api.js";

let words = {};

export async function loadTexts(language) {
  const response = await fetch(below(`/texts/${encodeURIComponent(language)}.json`));
  if (response.ok) words = await response.json();
}

export const knows = (name) => Object.hasOwn(words, name);

export function t(name, values = {}) {
  const text = knows(name) ? words[name] : name;
  return text.replace(/\{(\w+)\}/g, (whole, key) => (Object.hasOwn(values, key) ? values[key] : whole));
}

// Where there is no server to ask.
export const useTexts = (given) => (words = given);
