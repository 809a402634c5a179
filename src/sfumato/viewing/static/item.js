// One item in full: picture or text, everybody's bars side by side, each answer and its time.

import { find, h } from "/static/dom.js";
import { bar, number, paint, percent, words } from "/static/view/bars.js";
import { KINDS, markOf, setMark } from "/static/view/marks.js";

export async function fetchItem(item) {
  const reply = await fetch(`/item.json?${new URLSearchParams({ item })}`);
  return reply.ok ? reply.json() : null;
}

export function drawItem(about, shown, found, at, acts) {
  const panel = find("#item");
  const within = panel.contains(document.activeElement) ? document.activeElement.id : "";
  panel.replaceChildren(
    h("div", { class: "steps" },
      h("button", { type: "button", id: "before", disabled: !at || at.place === 0, onclick: () => acts.step(-1) }, "← Previous"),
      h("button", { type: "button", id: "after", disabled: !at || at.place + 1 >= at.total, onclick: () => acts.step(1) }, "Next →"),
      h("span", { class: "soft" }, at ? `${(at.place + 1).toLocaleString("en")} of ${at.total.toLocaleString("en")}` : "not in this list"),
      h("button", { type: "button", id: "close", onclick: acts.close }, "Close")),
    h("h2", { id: "item-title", tabindex: "-1" }, found.item),
    h("div", { class: "shown" }, found.picture ? picture(about, found) : "", tags(found)),
    found.text ? h("p", { class: "whole" }, found.text) : "",
    marking(found.item),
    beliefs(about, shown, found),
    found.answers.length ? answers(about, found, acts.person) : "",
    numbers(about, found));
  panel.hidden = false;
  if (within) find(`#${within}`)?.focus();
}

function picture(about, found) {
  const image = h("img", { class: "picture", src: `/picture/${about.key}/large/${found.row}`, alt: `Picture of item ${found.item}` });
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth <= 96));
  return image;
}

function tags(found) {
  const told = [found.split, ...found.strata].filter(Boolean);
  return told.length ? h("ul", { class: "tags", "aria-label": "Split and strata" }, told.map((name) => h("li", {}, name))) : "";
}

function beliefs(about, shown, found) {
  const sets = shown.filter((name) => name in found.sets);
  const rows = found.classes.map((place, at) => h("tr", {},
    h("th", { scope: "row" }, paint(h("i", { class: "dot", "aria-hidden": "true" }), place), about.classes[place]),
    sets.map((name) => {
      const share = found.sets[name]?.[at];
      if (share === undefined) return h("td", { class: "soft" }, "–");
      const drawn = paint(h("i", { "aria-hidden": "true" }), place);
      drawn.style.width = `${100 * share}%`;
      return h("td", { class: share ? "" : "soft" }, h("span", { class: "track", "aria-hidden": "true" }, drawn), h("span", {}, percent(share)));
    })));
  return h("section", {}, h("h3", {}, "Who believes what"),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Shares of classes" },
      h("table", { class: "beliefs" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Class"), sets.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows))));
}

function answers(about, found, choose) {
  const named = found.answers.some((answer) => answer.who !== null);
  const timed = found.answers.some((answer) => answer.seconds !== null);
  const total = found.answers.reduce((sum, answer) => sum + answer.count, 0);
  const rows = found.answers.map((answer) => h("tr", {},
    named ? h("th", { scope: "row" }, answer.who === null ? "not recorded"
      : h("button", { type: "button", class: "link", title: `Items that ${answer.who} answered`, onclick: () => choose(answer.who) }, answer.who)) : "",
    h("td", {}, answer.bar.length > 1 ? bar(answer.bar, about.classes) : "", words(answer.bar, about.classes, 4)),
    named ? "" : h("td", { class: "figure" }, answer.count.toLocaleString("en")),
    timed ? h("td", { class: "figure" }, number(answer.seconds, "seconds")) : ""));
  const heads = [named ? "Person" : "", "Answer", named ? "" : "People", timed ? "Time" : ""].filter(Boolean);
  return h("section", {}, h("h3", {}, total === 1 ? "1 answer" : `${total.toLocaleString("en")} answers`),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Answers" },
      h("table", { class: "answers" },
        h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col", class: name === "Answer" || name === "Person" ? "" : "figure" }, name)))),
        h("tbody", {}, rows))));
}

function numbers(about, found) {
  const told = Object.entries(found.numbers).filter(([, value]) => value !== null);
  return h("section", {}, h("h3", {}, "Numbers"), h("dl", {}, told.flatMap(([name, value]) =>
    [h("dt", {}, name === "entropy" ? `entropy of ${about.sets[0]}` : about.sorts[name]), h("dd", {}, number(value, name))])));
}

function marking(item) {
  const mark = markOf(item);
  const reason = h("input", {
    id: "reason", type: "text", value: mark?.reason ?? "", maxlength: "500", autocomplete: "off",
    onchange: (event) => setMark(item, markOf(item)?.mark ?? "again", event.target.value.trim()),
  });
  return h("div", { class: "marking", role: "group", "aria-label": "Mark this item" },
    Object.entries(KINDS).map(([name, title]) => h("button", {
      type: "button", id: `mark-${name}`, class: `mark ${name}`, "aria-pressed": String(mark?.mark === name),
      onclick: () => setMark(item, mark?.mark === name ? "" : name),
    }, title)),
    h("span", { class: "because" }, h("label", { for: "reason" }, "Reason"), reason));
}
