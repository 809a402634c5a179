// The page: what is asked for stands in its address, so that every view has a link.

import { find, h } from "/static/dom.js";
import { drawItem, fetchItem } from "/static/view/item.js";
import { List } from "/static/view/list.js";
import { countMarks, KEYS, loadMarks, markOf, setMark, showMarks } from "/static/view/marks.js";

const MOST_COLUMNS = 4; // that are shown at first
const PLAIN = ["sort", "first", "second", "stratum", "split", "person", "q"];
const KEYS_TOLD = [
  ["↓ ↑ or j k", "next and previous item"], ["Enter", "open the item"], ["Esc", "close it"],
  ["/", "search"], ["s", "sort by"], ["o", "turn the order round"], ["a, f, x", "mark: ask again, figure, exclude"],
  ["u", "take the mark away"], ["r", "give a reason"], ["m", "marked items"], ["?", "these keys"],
];

const about = await (await fetch("/about.json")).json();
let state = fromAddress();
let opened = null; // the item that is shown in full
const list = new List(about, (item) => addressOf({ ...state, item }));

// The state and its address.

function fromAddress() {
  const given = new URLSearchParams(location.search);
  const read = { tops: {}, item: given.get("item") ?? "", up: given.has("up"), sets: given.getAll("set").filter((name) => about.sets.includes(name)) };
  for (const name of PLAIN) read[name] = given.get(name) ?? "";
  for (const [name, value] of given) if (name.startsWith("top.")) read.tops[name.slice(4)] = value;
  if (!(read.sort in about.sorts)) read.sort = "item";
  if (!read.sets.length) read.sets = about.sets.slice(0, MOST_COLUMNS);
  return read;
}

function asked(of) {
  const given = new URLSearchParams();
  for (const name of PLAIN) if (of[name] && !(name === "sort" && of.sort === "item")) given.set(name, of[name]);
  if (of.up) given.set("up", "1");
  for (const [name, value] of Object.entries(of.tops)) if (value) given.set(`top.${name}`, value);
  return given;
}

function addressOf(of) {
  const given = asked(of);
  if (of.sets.join("\n") !== about.sets.slice(0, MOST_COLUMNS).join("\n")) for (const name of of.sets) given.append("set", name);
  if (of.item) given.set("item", of.item);
  return `/?${given}`.replace(/\?$/, "");
}

async function change(changes, { push = false, reload = true } = {}) {
  state = { ...state, ...changes };
  history[push ? "pushState" : "replaceState"](null, "", addressOf(state));
  if (reload) await show();
  else fill();
}

// Controls.

const option = (value, text, chosen) => h("option", { value, selected: value === chosen }, text);
const counted = (groups) => Object.entries(groups).map(([name, count]) => [name, `${name} (${count.toLocaleString("en")})`]);

function choices(id, pairs, chosen, none) {
  const select = find(`#${id}`);
  select.replaceChildren(...(none ? [option("", none, chosen)] : []), ...pairs.map(([value, text]) => option(value, text, chosen)));
  if (chosen && select.value !== chosen) select.append(option(chosen, chosen, chosen));
  select.value = chosen;
  select.closest(".field").hidden = !pairs.length;
}

function fill() {
  const names = about.sets.map((name) => [name, name]);
  choices("sort", Object.entries(about.sorts), state.sort);
  choices("stratum", counted(about.strata), state.stratum, "all");
  choices("split", counted(about.splits), state.split, "all");
  const paired = state.sort === "distance" || (state.sort === "entropy" && names.length > 1);
  choices("first", paired ? names : [], state.first || about.sets[0]);
  choices("second", state.sort === "distance" ? names : [], state.second || about.sets[1]);
  find("label[for=first]").textContent = state.sort === "distance" ? "between" : "of";
  for (const id of ["q", "person"]) if (find(`#${id}`).value !== state[id]) find(`#${id}`).value = state[id];
  find("#person").closest(".field").hidden = !about.people.length;
  const down = state.sort === "item" ? "First to last" : "Largest first";
  find("#way").textContent = state.up ? (state.sort === "item" ? "Last to first" : "Smallest first") : down;
  const filtered = [state.stratum, state.split, state.person, ...Object.values(state.tops)].filter(Boolean).length;
  find("#more").textContent = filtered ? `Filter (${filtered})` : "Filter";
  find("#clear").disabled = !filtered && !state.q;
  fillColumns();
  fillHeads();
  find("#marked").textContent = countMarks();
}

function fillColumns() {
  find("#columns").hidden = about.sets.length < 2;
  find("#columns > summary").textContent = `Columns: ${state.sets.length} of ${about.sets.length}`;
  const box = find("#sets");
  if (box.childElementCount) {
    for (const input of box.querySelectorAll("input")) input.checked = state.sets.includes(input.value);
    return;
  }
  box.append(...about.sets.map((name) => h("label", {},
    h("input", { type: "checkbox", value: name, checked: state.sets.includes(name), onchange: () => {
      const chosen = [...box.querySelectorAll("input:checked")].map((input) => input.value);
      change({ sets: chosen.length ? chosen : about.sets.slice(0, 1) });
    } }), name)));
}

function fillHeads() {
  const heads = find("#heads");
  heads.replaceChildren(
    about.pictures ? h("span", { class: "hidden-head" }) : "",
    h("span", { class: "head" }, "Item"),
    ...state.sets.map((name, at) => h("span", { class: "head" },
      h("label", { for: `top-${at}` }, name),
      h("select", { id: `top-${at}`, "aria-label": `Most probable class: ${name}`, onchange: (event) => change({ tops: { ...state.tops, [name]: event.target.value } }) },
        option("", "any class", state.tops[name] ?? ""), about.classes.map((one) => option(one, one, state.tops[name]))))),
    state.sort === "item" ? "" : h("span", { class: "head value" }, unit()));
  const items = find("#items");
  items.style.setProperty("--sets", state.sets.length);
  items.classList.toggle("texted", about.texts);
  items.classList.toggle("pictured", about.pictures);
  items.classList.toggle("valued", state.sort !== "item");
}

const UNITS = { entropy: "entropy", distance: "distance", disagreement: "disagreement", doubt: "doubt", change: "change", answers: "answers", seconds: "median time" };
const unit = () => UNITS[state.sort] ?? "";

// Showing.

async function show() {
  const focused = document.activeElement?.id;
  fill();
  if (focused?.startsWith("top-")) find(`#${focused}`)?.focus();
  Object.assign(list, { sets: state.sets, sort: state.sort, sortName: unit(), person: state.person, open: Boolean(state.item) });
  const given = asked(state);
  for (const name of state.sets) given.append("set", name);
  const found = await list.show(given.toString(), state.item);
  if (list.asked !== given.toString()) return; // something else was asked for meanwhile
  if (found) tell(found.total);
  if (state.item) await openItem(state.item, found?.place ?? null);
  else closePanel();
}

function tell(total) {
  const all = about.items.toLocaleString("en");
  find("#count").replaceChildren(
    total === about.items ? `${all} items` : `${total.toLocaleString("en")} of ${all} items`,
    total ? "" : h("span", { class: "soft" }, " No item fits; clear the filters."));
}

async function openItem(item, place) {
  const found = await fetchItem(item);
  if (state.item !== item) return;
  if (!found) { closePanel(); find("#count").textContent = `There is no item called ${item}.`; return; }
  opened = { found, at: place === null ? null : { place, total: list.total } };
  list.open = true;
  drawPanel();
  document.body.classList.add("with-item");
  list.redraw();
  if (place !== null) list.reveal(place);
  document.title = `${item} – ${about.title}`;
}

function drawPanel() {
  if (!opened) return;
  drawItem(about, state.sets, opened.found, opened.at, {
    step, close, person: (name) => change({ person: name, item: "" }),
  });
}

function closePanel() {
  opened = null;
  list.open = false;
  find("#item").hidden = true;
  document.body.classList.remove("with-item");
  document.title = `${about.title} – Sfumato`;
}

async function go(place, push = false) {
  const item = await list.item(place);
  if (item === undefined) return;
  list.move(place, false);
  await change({ item }, { push, reload: false });
  await openItem(item, place);
}

const step = (by) => { if (opened?.at) go(Math.max(0, Math.min(list.total - 1, opened.at.place + by))); };

async function close() {
  closePanel();
  await change({ item: "" }, { reload: false });
  list.move(list.at);
}

async function openByName(item) {
  await change({ item }, { push: true });
}

function showKeys() {
  const dialog = find("#keys");
  dialog.replaceChildren(h("h2", { id: "keys-title" }, "Keys"),
    h("dl", {}, KEYS_TOLD.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
    h("p", { class: "acts" }, h("button", { type: "button", onclick: () => dialog.close() }, "Close")));
  dialog.showModal();
}

// What people do.

const typing = (target) => target.closest?.("input:not([type=checkbox]), textarea, select");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
  if (event.key === "Escape" && opened) { event.preventDefault(); close(); return; }
  if (typing(event.target)) return;
  const act = acts[event.key] ?? (KEYS[event.key] && (() => mark(KEYS[event.key])));
  if (act) { event.preventDefault(); act(); }
});

const down = () => (opened ? step(1) : list.move(document.activeElement?.closest(".row") ? list.at + 1 : list.at));
const up = () => (opened ? step(-1) : list.move(list.at - 1));
const acts = {
  ArrowDown: down, j: down, ArrowUp: up, k: up,
  ArrowRight: () => opened && step(1), ArrowLeft: () => opened && step(-1),
  "/": () => find("#q").focus(), s: () => find("#sort").focus(), o: () => change({ up: !state.up, item: "" }),
  r: () => opened && find("#reason").focus(), u: () => mark(""),
  m: () => showMarks(about.title, openByName), "?": showKeys,
};

function mark(kind) {
  const item = opened?.found.item ?? list.row(list.at)?.item;
  if (item !== undefined) setMark(item, kind === markOf(item)?.mark ? "" : kind);
}

find("#rows").addEventListener("click", (event) => {
  const link = event.target.closest("a[data-item]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(Number(link.closest(".row").dataset.place), !opened).then(() => find("#item-title")?.focus({ preventScroll: true }));
});

let later = 0;
find("#q").addEventListener("input", (event) => {
  clearTimeout(later);
  later = setTimeout(() => change({ q: event.target.value, item: "" }), 150);
});
for (const id of ["sort", "stratum", "split", "person"]) {
  find(`#${id}`).addEventListener("change", (event) => change({ [id]: event.target.value.trim(), item: "" }));
}
for (const id of ["first", "second"]) {
  find(`#${id}`).addEventListener("change", (event) => {
    const chosen = event.target.value; // what is compared is also shown
    const sets = about.sets.filter((name) => name === chosen || state.sets.includes(name));
    change({ [id]: chosen, sets, item: "" });
  });
}
find("#asked").addEventListener("submit", (event) => event.preventDefault());
find("#q").addEventListener("keydown", (event) => { if (event.key === "Enter") list.move(0); });
find("#way").addEventListener("click", () => change({ up: !state.up, item: "" }));
find("#clear").addEventListener("click", () => change({ q: "", stratum: "", split: "", person: "", tops: {}, item: "" }));
find("#more").addEventListener("click", (event) => {
  const shown = event.target.ariaExpanded !== "true";
  event.target.ariaExpanded = String(shown);
  find("#asked").classList.toggle("unfolded", shown);
});
find("#show-marks").addEventListener("click", () => showMarks(about.title, openByName));
find("#show-keys").addEventListener("click", showKeys);
addEventListener("popstate", () => { state = fromAddress(); show(); });

// The beginning.

find("#title").textContent = about.title;
find("#about").replaceChildren(describe().join(" · "));
if (about.remarks.length) {
  find("#notes").hidden = false;
  find("#notes").append(h("ul", {}, about.remarks.map((text) => h("li", {}, text))));
}
find("#people").replaceChildren(...about.people.map((name) => h("option", { value: name })));
loadMarks(about.identity, () => { find("#marked").textContent = countMarks(); list.redraw(); drawPanel(); });
await show();

function describe() {
  const told = [];
  if (about.answers) told.push(`${about.answers.toLocaleString("en")} answers`);
  const people = about["number of people"] ? `${about["number of people"].toLocaleString("en")} ` : "";
  if (people || about.simulated) told.push(`${people}${about.simulated ? "simulated people" : "people"}`);
  return [...told, `${about.classes.length.toLocaleString("en")} classes`];
}
