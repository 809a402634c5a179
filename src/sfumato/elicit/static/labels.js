// Lists of classes, however long: a search box, groups that open and close, keys for what is shown.
//
// The form makes one element for each class; here they are put in order, hidden and shown. The
// numbers 1 to 0 always stand for the first ten that are shown, with ⇧ for the next ten.

import { recent } from "./api.js";
import { digit, h, keyOf } from "./dom.js";

export const MANY = 14; // from here on a list is searched
const OPEN = 60; // groups of longer lists are closed at first
const RECENT = 6;

const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

// `elements`: of each class, in the order of `classes`. `choose(name)`: Enter in the search box.
// `asked`: a form's own element for each group and whether it is open, instead of a heading.
// `letters`: typing begins to search, for forms that need no letters themselves; "/" always does.
export function labelList({ trial, classes = trial.classes, elements, word, choose = null, letters = false, shifted = false, asked = null }) {
  const groups = Object.entries(trial.question.groups ?? {});
  const groupOf = new Map(groups.flatMap(([group, names]) => names.map((name) => [name, group])));
  const closed = new Set(classes.length > OPEN ? groups.map(([group]) => group) : []);
  const folded = classes.map(plain);
  const places = new Map(classes.map((name, place) => [name, place]));
  const inOrder = [...groups.map(([group]) => group), undefined].map((group) => [
    group,
    classes.filter((name) => groupOf.get(name) === group),
  ]);
  const headings = new Map(groups.map(([group, names]) => [group, asked?.element(group) ?? heading(group, names.length)]));
  const items = inOrder.flatMap(([group, names]) => [
    ...(group === undefined ? [] : [headings.get(group)]),
    ...names.map((name) => elements[places.get(name)]),
  ]);
  const isLong = classes.length > MANY;
  const box = h("input", { type: "search", "aria-label": word("search"), placeholder: word("search"), autocomplete: "off", oninput: paint });
  const count = h("span", { class: "remark", role: "status" });
  const again = h("div", { class: "recent", role: "group", "aria-label": word("recent") });
  const search = isLong ? [h("div", { class: "search" }, box, count), again] : [];
  let visible = classes;

  function heading(group, size) {
    const button = h("button", { type: "button", class: "group", onclick: () => toggle(group) }, h("span", {}, group), h("span", { class: "remark" }, String(size)));
    return button;
  }
  function toggle(group) {
    if (!closed.delete(group)) closed.add(group);
    paint();
  }

  function paint() {
    const wanted = plain(box.value).split(/\s+/).filter(Boolean);
    const matches = (place) => wanted.every((part) => folded[place].includes(part));
    visible = [];
    for (const [group, names] of inOrder) {
      const found = names.filter((name) => matches(places.get(name)));
      const isOpen = wanted.length > 0 || group === undefined || (asked ? asked.isOpen(group) : !closed.has(group));
      for (const name of names) elements[places.get(name)].hidden = true;
      for (const name of isOpen ? found : []) {
        elements[places.get(name)].hidden = false;
        visible.push(name);
      }
      if (!asked) headings.get(group)?.setAttribute("aria-expanded", String(isOpen));
      if (group !== undefined) headings.get(group).hidden = found.length === 0;
    }
    count.textContent = wanted.length ? word("found", { count: visible.length, of: classes.length }) : "";
    if (isLong || groups.length) number();
  }
  function number() {
    classes.forEach((_, place) => elements[place].querySelector("kbd")?.replaceChildren());
    visible.slice(0, shifted ? 20 : 10).forEach((name, place) => {
      elements[places.get(name)].querySelector("kbd")?.replaceChildren(keyOf(place, shifted));
    });
  }

  const last = () => (isLong && "recent" in document.documentElement.dataset ? (recent.get() ?? []) : []);
  again.replaceChildren(
    ...last().filter((name) => places.has(name)).map((name) =>
      h("button", { type: "button", class: "small", "data-again": name, onclick: () => choose?.(name) }, name),
    ),
  );
  again.hidden = choose === null || again.childElementCount === 0;
  paint();

  // What Enter means: the class that is called so, else one that begins so, else the first.
  function best() {
    const typed = plain(box.value.trim());
    const near = (test) => visible.find((name) => test(folded[places.get(name)]));
    return near((name) => name === typed) ?? near((name) => name.startsWith(typed)) ?? visible[0];
  }

  return {
    search,
    items,
    paint,
    shown: () => visible,
    // Of the class that a number key stands for, or -1.
    place(event) {
      const found = digit(event, 10) + (shifted && event.shiftKey ? 10 : 0);
      return digit(event, 10) < 0 || found >= visible.length ? -1 : places.get(visible[found]);
    },
    // null: not for the list; false: the box has it; true: done.
    key(event) {
      if (!isLong) return null;
      if (event.target !== box) {
        const begins = letters && /^\p{L}$/u.test(event.key);
        if (!begins && event.key !== "/") return null;
        box.focus();
        return !begins; // a letter is typed into the box
      }
      if (event.key === "Escape") {
        box.value = "";
        paint();
        box.blur();
        return true;
      }
      if (event.key !== "Enter") return false;
      if (visible.length > 0 && box.value.trim() !== "") {
        if (choose) choose(best());
        else elements[places.get(best())].querySelector("input, button")?.focus();
      }
      return true;
    },
    used(name) {
      if (isLong) recent.set([name, ...(recent.get() ?? []).filter((other) => other !== name)].slice(0, RECENT));
    },
  };
}

// Buttons to pick classes with, in a list; `toggled(name)` when one is pressed.
export function pickButtons({ trial, word, toggled, oneEach = false }) {
  const { classes } = trial;
  const elements = classes.map((name, place) =>
    h(
      "button",
      {
        type: "button",
        class: "choice",
        "data-input": name,
        "aria-pressed": "false",
        // The second half of a double click must not answer the next trial.
        onclick: (event) => (oneEach && event.detail > 1) || pick(name),
      },
      h("kbd", { "aria-hidden": "true" }, keyOf(place, true)),
      h("span", {}, name),
    ),
  );
  function pick(name) {
    list.used(name);
    toggled(name);
  }
  const list = labelList({ trial, elements, word, choose: pick, letters: true, shifted: true });
  return {
    ...list,
    elements,
    mark: (isPicked) => elements.forEach((button, place) => button.setAttribute("aria-pressed", String(isPicked(classes[place])))),
    area: () => h("div", { class: "pick" }, ...list.search, h("div", { class: "many", role: "group", "aria-label": word("labels") }, ...list.items)),
    key(event) {
      const taken = list.key(event);
      if (taken !== null) return taken;
      const place = list.place(event);
      if (place < 0 || event.repeat) return null;
      if (oneEach) elements[place].focus();
      else event.target.closest("main")?.focus({ preventScroll: true }); // or Enter would press a button
      pick(classes[place]);
      return true;
    },
  };
}
