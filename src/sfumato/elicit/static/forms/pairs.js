// How similar two images are, on a scale of whole numbers (S1-03).

import { digit } from "../dom.js";
import { scale } from "./rating.js";

const MOST_POINTS = 21;

export function makeForm({ options, word }) {
  const [low, high] = options.scale ?? [0, 6];
  const points = Array.from({ length: Math.min(high - low + 1, MOST_POINTS) }, (_, place) =>
    high - low < MOST_POINTS ? low + place : Math.round(low + (place * (high - low)) / (MOST_POINTS - 1)),
  );
  // The key with the number of the point; digit() counts 1 as the first and 0 as the tenth.
  const keys = (event) => (digit(event, 10) < 0 ? -1 : points.indexOf((digit(event, 10) + 1) % 10));
  return scale({ points, label: word("similarity"), low: word("dissimilar"), high: word("similar"), field: "rating", word, keys });
}
