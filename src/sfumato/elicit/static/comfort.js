// What makes hours at the page bearable: a dark page, larger images, the instructions, time left.

import { get, pace, taste } from "./api.js";
import { find, h, keyHint } from "./dom.js";
import { t } from "./texts.js";

const root = document.documentElement;
const wanted = root.dataset.theme; // of the study: auto, light or dark
const system = window.matchMedia("(prefers-color-scheme: dark)");
const KEPT = 15;

export function dress() {
  const asked = wanted === "auto" ? (taste.get() ?? (system.matches ? "dark" : "light")) : wanted;
  root.dataset.theme = asked;
}
system.addEventListener("change", dress);

// Beside the title: to read the instructions again, and to change between light and dark.
export function showTools({ isTrial, enlarge }) {
  const tool = (name, sign, key, onclick) =>
    h("button", { type: "button", class: "tool", onclick, "aria-label": t(name), title: t(name) }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "words" }, t(name)), keyHint(key));
  const turn = () => {
    taste.set(root.dataset.theme === "dark" ? "light" : "dark");
    dress();
  };
  find("#tools").replaceChildren(
    ...(isTrial ? [tool("help", "?", "", readAgain)] : []),
    ...(enlarge ? [tool("enlarge", "⤢", "Z", enlarge)] : []),
    ...(wanted === "auto" ? [tool("theme", "◐", "", turn)] : []),
  );
}

function dialog(name, ...content) {
  const box = h(
    "dialog",
    { class: name, "aria-label": t(name) },
    h("div", { class: "inside" }, ...content),
    h("button", { type: "button", class: "quiet", onclick: () => box.close() }, t("close")),
  );
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  return box;
}

export async function readAgain() {
  if (find("dialog")) return;
  const { text } = await get("/instructions");
  dialog("instructions", h("h2", {}, t("instructions")), ...text.map((paragraph) => h("p", {}, paragraph)));
}

// The images as large as the screen allows; sharp pixels where somebody wants to count them.
export function enlargeImages(pictures) {
  if (find("dialog")) return;
  const copies = pictures.map((picture) => h("img", { src: picture.src, alt: picture.alt }));
  const sharp = h("input", { type: "checkbox", onchange: () => box.classList.toggle("sharp", sharp.checked) });
  sharp.checked = root.dataset.pixels === "sharp";
  const box = dialog("enlarge", h("div", { class: "large" }, ...copies), h("label", { class: "option" }, sharp, h("span", {}, t("sharp"))));
  box.classList.toggle("sharp", sharp.checked);
  const fit = () => {
    const room = Math.min(...copies.map((copy) => Math.min(copy.parentElement.clientWidth / copies.length / copy.naturalWidth, copy.parentElement.clientHeight / copy.naturalHeight)));
    for (const copy of copies) copy.width = Math.max(1, Math.floor(copy.naturalWidth * room));
  };
  Promise.all(copies.map((copy) => copy.decode())).then(fit, () => {});
}

// Of the last trials, so that a coffee in between is soon forgotten: the median.
export function keepPace(seconds) {
  pace.set([...(pace.get() ?? []), seconds].slice(-KEPT));
}

export function timeLeft(trials) {
  const times = [...(pace.get() ?? [])].sort((one, other) => one - other);
  if (!("timeLeft" in root.dataset) || times.length < 3) return "";
  const minutes = Math.max(1, Math.round((times[Math.floor(times.length / 2)] * trials) / 60));
  return root.dataset.pay ? t("time-and-pay", { minutes, pay: root.dataset.pay }) : t("time-left", { minutes });
}
