// Marks on items: kept by this browser alone, for these items alone, and handed out as CSV.

import { find, h } from "/static/dom.js";

export const KINDS = { again: "Ask again", figure: "Figure", exclude: "Exclude" };
export const KEYS = { a: "again", f: "figure", x: "exclude" };

let place = "";
let known = new Map();
let told = () => {};

export function loadMarks(identity, changed) {
  place = `sfumato marks ${identity}`;
  told = changed;
  read();
  addEventListener("storage", (event) => { if (event.key === place) { read(); told(); } });
}

function read() {
  try {
    known = new Map(JSON.parse(localStorage.getItem(place) ?? "[]"));
  } catch {
    known = new Map(); // no storage, or not ours
  }
}

export const markOf = (item) => known.get(item);
export const countMarks = () => known.size;

export function setMark(item, mark, reason = known.get(item)?.reason ?? "") {
  if (mark) known.set(item, { mark, reason });
  else known.delete(item);
  try {
    localStorage.setItem(place, JSON.stringify([...known]));
  } catch { /* they last as long as the page */ }
  told();
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export function marksAsCsv() {
  const rows = [...known].map(([item, { mark, reason }]) => [item, mark, reason]);
  return [["item", "mark", "reason"], ...rows]
    .map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}

export function showMarks(title, open) {
  const dialog = find("#marks");
  const draw = () => {
    const rows = [...known].map(([item, { mark, reason }]) =>
      h("tr", {},
        h("th", { scope: "row" }, h("button", {
          type: "button", class: "link", onclick: () => { dialog.close(); open(item); },
        }, item)),
        h("td", {}, h("span", { class: `mark ${mark}` }, KINDS[mark] ?? mark)),
        h("td", { class: "reason" }, reason),
        h("td", {}, h("button", {
          type: "button", "aria-label": `Remove the mark on ${item}`,
          onclick: () => { setMark(item, ""); draw(); },
        }, "Remove"))));
    const table = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Marked items" },
      h("table", {}, h("thead", {}, h("tr", {}, ["Item", "Mark", "Reason", "Change"].map((name) =>
        h("th", { scope: "col" }, name)))), h("tbody", {}, rows)));
    dialog.replaceChildren(
      h("h2", { id: "marks-title" }, known.size === 1 ? "1 marked item" : `${known.size} marked items`),
      h("p", { class: "soft" }, known.size
        ? "Marks are kept by this browser. The file has the columns item, mark and reason."
        : "Open an item and press a (ask again), f (figure) or x (exclude)."),
      known.size ? table : "",
      h("p", { class: "acts" },
        known.size ? h("button", { type: "button", class: "main", autofocus: true, onclick: () => save(title) }, "Download CSV") : "",
        h("button", { type: "button", autofocus: !known.size, onclick: () => dialog.close() }, "Close")));
  };
  draw();
  dialog.showModal();
}

function save(title) {
  const url = URL.createObjectURL(new Blob([marksAsCsv()], { type: "text/csv" }));
  const name = title.replace(/\.[a-z]+$/i, "").replace(/[^\p{L}\p{N}._-]+/gu, "-");
  h("a", { href: url, download: `${name}-marks.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
