// The list: only rows in view are elements, and they are fetched in blocks as they come into view.

import { find, h } from "/static/dom.js";
import { bar, number, words } from "/static/view/bars.js";
import { KINDS, markOf } from "/static/view/marks.js";

const BLOCK = 60;
const AROUND = 6; // rows drawn above and below
const TALLEST = 8_000_000; // pixels; browsers cannot scroll through much taller elements

export class List {
  constructor(about, addressOf) {
    this.about = about;
    this.addressOf = addressOf;
    this.box = find("#list");
    this.rows = find("#rows");
    this.drawn = new Map();
    this.blocks = new Map();
    this.total = 0;
    this.at = 0;
    this.sets = [];
    this.narrow = matchMedia("(max-width: 800px)");
    this.box.addEventListener("scroll", () => this.soon(), { passive: true });
    new ResizeObserver(() => this.redraw()).observe(this.box);
  }

  // Ask for another order; resolves with the first answer, when its rows are drawn.
  async show(asked, item = "") {
    this.asked = asked;
    this.blocks.clear();
    this.cancel?.abort();
    this.cancel = new AbortController();
    this.rows.ariaBusy = "true";
    const first = await this.fetch(0, item);
    if (!first || this.asked !== asked) return null;
    this.total = first.total;
    this.at = first.place ?? 0;
    this.box.scrollTop = 0;
    this.redraw();
    if (first.place) this.reveal(first.place);
    this.rows.ariaBusy = null;
    performance.mark("rows");
    return first;
  }

  async fetch(block, item = "") {
    const asked = new URLSearchParams(this.asked);
    asked.set("start", block * BLOCK);
    asked.set("count", BLOCK);
    if (item) asked.set("item", item);
    this.blocks.set(block, null);
    try {
      const reply = await fetch(`/rows.json?${asked}`, { signal: this.cancel.signal });
      const found = await reply.json();
      if (!reply.ok) throw new Error(found.error);
      this.blocks.set(block, found.rows);
      return found;
    } catch (error) {
      if (error.name === "AbortError") return null;
      this.blocks.delete(block);
      find("#count").textContent = error instanceof TypeError ? "The page is not served any more." : error.message;
      this.total = 0;
      this.redraw();
      this.rows.ariaBusy = null;
      return null;
    }
  }

  row(place) {
    return this.blocks.get(Math.floor(place / BLOCK))?.[place % BLOCK];
  }

  async item(place) {
    const block = Math.floor(place / BLOCK);
    if (!this.row(place)) await this.fetch(block);
    return this.row(place)?.item;
  }

  get height() {
    if (!this.narrow.matches) return this.person && this.about.texts ? 98 : 78;
    const lines = (this.sort !== "item") + this.about.texts + Boolean(this.person);
    return 42 + 47 * this.sets.length + 20 * lines; // beneath each other
  }

  soon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = null; this.draw(); });
  }

  redraw() {
    const focused = this.rows.contains(document.activeElement);
    for (const element of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.draw();
    if (focused) this.focus();
  }

  focus() {
    this.rows.querySelector(`[data-place="${this.at}"] a`)?.focus({ preventScroll: true });
  }

  // Where the list is, in pixels of a list without limits.
  get top() {
    const whole = this.total * this.height;
    const real = Math.min(whole, TALLEST);
    const seen = this.box.clientHeight;
    return real > seen ? this.box.scrollTop * (whole - seen) / (real - seen) : 0;
  }

  draw() {
    const height = this.height;
    this.rows.style.setProperty("--row", `${height}px`);
    this.rows.style.height = `${Math.min(this.total * height, TALLEST)}px`;
    const top = this.top;
    const first = Math.max(0, Math.floor(top / height) - AROUND);
    const last = Math.min(this.total, Math.ceil((top + this.box.clientHeight) / height) + AROUND);
    const wanted = new Set();
    for (let place = first; place < last; place += 1) wanted.add(place);
    const focused = Number(document.activeElement?.closest?.(".row")?.dataset.place ?? NaN);
    if (focused < this.total) wanted.add(focused); // whoever is in it stays in it
    for (const [place, element] of this.drawn) {
      if (!wanted.has(place) || (element.dataset.empty && this.row(place))) {
        element.remove();
        this.drawn.delete(place);
      }
    }
    for (const place of [...wanted].sort((a, b) => a - b)) {
      let element = this.drawn.get(place);
      if (!element) {
        element = this.element(place);
        this.drawn.set(place, element);
        const after = this.rows.querySelector(`[data-place="${place + 1}"]`);
        this.rows.insertBefore(element, after);
      }
      element.style.transform = `translateY(${place * height - top + this.box.scrollTop}px)`;
    }
    const missing = new Set([...wanted].map((place) => Math.floor(place / BLOCK)));
    for (const block of missing) {
      if (this.total && !this.blocks.has(block)) this.fetch(block).then((found) => found && this.soon());
    }
  }

  element(place) {
    const row = this.row(place);
    const told = { class: "row", "aria-setsize": this.total, "aria-posinset": place + 1, "data-place": place };
    if (!row) return h("li", { ...told, "data-empty": "1" }, h("span", { class: "hidden" }, "Loading"));
    const { about } = this;
    const mark = markOf(row.item);
    const picture = about.pictures && (row.picture
      ? h("img", { src: `/picture/${about.key}/small/${row.row}`, alt: "", width: 60, height: 60, decoding: "async" })
      : h("span", { class: "nothing" }));
    const name = h("div", { class: "name" },
      h("a", { href: this.addressOf(row.item), "data-item": row.item, tabindex: place === this.at ? "0" : "-1" }, row.item),
      mark ? h("span", { class: `mark ${mark.mark}` }, KINDS[mark.mark] ?? mark.mark) : null,
      row.text ? h("p", { class: "text" }, row.text) : null,
      row.said ? h("p", { class: "by" }, `${this.person}: ${row.said.map(([at, share]) =>
        share > 0.995 ? about.classes[at] : `${about.classes[at]} ${Math.round(100 * share)} %`).join(", ")}`) : null);
    const sets = row.bars.map((shares, at) => h("div", { class: "set" },
      h("span", { class: "whose" }, this.sets[at]),
      shares ? [bar(shares, about.classes), words(shares, about.classes)] : h("p", { class: "words soft" }, "none")));
    const value = this.sort === "item" ? null
      : h("div", { class: "value" }, h("span", { class: "whose" }, this.sortName), number(row.value, this.sort));
    return h("li", { ...told, class: place === this.at && this.open ? "row open" : "row" },
      picture || null, name, sets, value);
  }

  // Scroll so that a row is in view.
  reveal(place) {
    const { height } = this;
    const seen = this.box.clientHeight;
    const whole = this.total * height;
    const scale = whole > TALLEST ? (TALLEST - seen) / (whole - seen) : 1;
    const top = this.top;
    if (place * height < top) this.box.scrollTop = Math.floor(place * height * scale);
    else if ((place + 1) * height > top + seen) this.box.scrollTop = Math.ceil(((place + 1) * height - seen) * scale);
    this.draw();
  }

  move(place, focus = true) {
    this.at = Math.max(0, Math.min(this.total - 1, place));
    this.reveal(this.at);
    this.redraw();
    if (focus) this.focus();
  }
}
