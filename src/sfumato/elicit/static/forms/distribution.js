// The whole distribution with 20 chips of 5 % (S3-19); what is sent always sums to the scale.
//
// Classes with chips are sent with their share, those marked as definitely not in a list of their
// own; what nobody spoke of is left out.

import { h, keyHint, keyOf } from "../dom.js";
import { labelList } from "../labels.js";

const CHIPS = 20;
const CHIP = 100 / CHIPS;
const CLOSE = 1e-9;

export function makeForm({ trial, options, word, changed, say }) {
  const { classes } = trial;
  const scale = options.scale ?? 100;
  const share = classes.map(() => 0); // in percent
  const ruledOut = classes.map(() => false);
  let marking = false; // X was pressed; the next number marks

  const left = () => {
    const rest = 100 - share.reduce((sum, one) => sum + one, 0);
    return Math.abs(rest) < 1e-6 ? 0 : rest;
  };

  function set(place, wanted, told = true) {
    const most = share[place] + left();
    const value = ruledOut[place] ? 0 : Math.max(0, Math.min(wanted, most));
    if (wanted > most + CLOSE && most - share[place] < CLOSE) say(word("no-chips"));
    else say(ruledOut[place] && wanted > 0 ? word("is-ruled-out") : "");
    share[place] = value;
    if (told) changed(classes[place]);
    paint();
  }
  // From wherever a value lies to the next multiple of a chip.
  const add = (place) => set(place, Math.floor(share[place] / CHIP + CLOSE + 1) * CHIP);
  const take = (place) => set(place, Math.ceil(share[place] / CHIP - CLOSE - 1) * CHIP);

  function rule(place) {
    ruledOut[place] = !ruledOut[place];
    if (ruledOut[place]) share[place] = 0;
    changed(`not: ${classes[place]}`);
    say("");
    paint();
  }

  const places = (test) => classes.map((_, place) => place).filter(test);
  function spread(among) {
    const each = left() / among.length;
    for (const place of among) share[place] += each;
  }
  const REST = {
    // Over what was not spoken of, as the labels would be filled; over all where nothing is left.
    even() {
      const open = places((place) => !ruledOut[place]);
      const untouched = open.filter((place) => share[place] === 0);
      spread(untouched.length ? untouched : open);
    },
    top() {
      const most = Math.max(...share);
      const top = places((place) => share[place] === most && !ruledOut[place]);
      if (most > 0 && top.length === 1) share[top[0]] += left();
      else say(word("no-top"));
    },
    "no-idea"() {
      share.fill(0);
      spread(places((place) => !ruledOut[place]));
    },
    clear() {
      share.fill(0);
      ruledOut.fill(false);
    },
  };
  function doWithRest(name) {
    if (name !== "clear" && ruledOut.every(Boolean)) return say(word("fault-everything-ruled-out"));
    say("");
    REST[name]();
    changed(name);
    paint();
    return undefined;
  }

  const rows = classes.map((name, place) => row(name, place));
  const list = labelList({ trial, word, elements: rows.map(({ line }) => line) });
  const rest = h("output", { class: "rest", role: "status" });
  const chips = h("span", { class: "chips", "aria-hidden": "true" });
  const KEYS = { e: "even", t: "top", i: "no-idea", c: "clear" };
  const buttons = Object.entries(KEYS).map(([key, name]) =>
    h("button", { type: "button", class: "small", "data-input": name, onclick: () => doWithRest(name) }, keyHint(key.toUpperCase()), word(name)),
  );
  const marker = h("p", { class: "marking", role: "status" });
  const element = h(
    "div",
    { class: "answer", role: "group", "aria-label": word("labels") },
    ...list.search,
    h("div", { class: "rows" }, ...list.items),
    h("div", { class: "remaining" }, h("p", {}, rest, chips), h("div", { class: "helpers" }, ...buttons)),
    marker,
  );
  paint();

  function row(name, place) {
    const bar = h("input", {
      type: "range",
      min: 0,
      max: 100,
      step: CHIP,
      value: 0,
      "aria-label": name,
      "data-input": name,
      oninput: () => set(place, Number(bar.value), false),
      onkeydown: (event) => {
        const [right, left] = document.dir === "rtl" ? [take, add] : [add, take];
        const step = { ArrowRight: right, ArrowUp: add, ArrowLeft: left, ArrowDown: take }[event.key];
        if (!step) return;
        event.preventDefault(); // the browser would step from the value before "no idea"
        step(place);
      },
    });
    const number = h("output", { class: "number", "aria-hidden": "true" });
    const small = (sign, label, act) =>
      h("button", { type: "button", class: "step", "data-input": name, "aria-label": `${label}: ${name}`, tabindex: -1, onclick: act }, sign);
    const not = h(
      "button",
      { type: "button", class: "not", "data-input": `not: ${name}`, "aria-pressed": "false", "aria-label": `${word("definitely-not")}: ${name}`, title: word("definitely-not"), onclick: () => rule(place) },
      word("not"),
    );
    const line = h(
      "div",
      { class: "class" },
      h(
        "button",
        { type: "button", class: "name", "data-input": name, "aria-label": word("add-to", { name }), onclick: () => add(place) },
        h("kbd", { "aria-hidden": "true" }, keyOf(place)),
        h("span", {}, name),
      ),
      small("−", word("less"), () => take(place)),
      bar,
      small("+", word("more"), () => add(place)),
      number,
      not,
    );
    return { line, bar, number, not };
  }

  function paint() {
    rows.forEach(({ line, bar, number, not }, place) => {
      const text = ruledOut[place] ? word("definitely-not") : `${round(share[place])} %`;
      bar.value = share[place];
      bar.disabled = ruledOut[place];
      bar.setAttribute("aria-valuetext", text);
      bar.style.setProperty("--at", `${share[place]}%`);
      number.textContent = ruledOut[place] ? "✕" : `${round(share[place])} %`;
      line.classList.toggle("ruled-out", ruledOut[place]);
      line.classList.toggle("some", share[place] > 0);
      not.setAttribute("aria-pressed", String(ruledOut[place]));
    });
    const open = left();
    rest.textContent = open > 0 ? word("chips-left", { count: round(open / CHIP), percent: round(open) }) : word("all-placed");
    rest.classList.toggle("whole", open === 0);
    chips.style.setProperty("--left", `${open}%`);
    marker.textContent = marking ? word("marking") : "";
  }

  function told() {
    const some = places((place) => share[place] > 0);
    const answer = Object.fromEntries(some.map((place) => [classes[place], (share[place] / 100) * scale]));
    const not = classes.filter((_, place) => ruledOut[place]);
    return not.length ? { ...answer, ruled_out: not } : answer;
  }

  return {
    element,
    draft: told,
    read() {
      if (left() > 0) return { problem: word("chips-left-first", { percent: round(left()) }) };
      return { answer: told() };
    },
    fill(draft) {
      const { ruled_out: not = [], ...given } = draft;
      for (const [name, value] of Object.entries(given)) share[classes.indexOf(name)] = (value / scale) * 100;
      // Answers stored before there was the list have 0 for what was marked.
      classes.forEach((name, place) => {
        ruledOut[place] = not.includes(name) || given[name] === 0;
      });
      paint();
    },
    key(event) {
      const taken = list.key(event);
      if (taken !== null) return taken;
      const pressed = event.key.toLowerCase();
      if (pressed === "x" || (marking && pressed === "escape")) {
        marking = !marking;
        paint();
        return true;
      }
      if (Object.hasOwn(KEYS, pressed)) {
        doWithRest(KEYS[pressed]);
        return true;
      }
      const place = list.place(event);
      if (place < 0) return false;
      if (marking) {
        marking = false;
        rule(place);
      } else if (event.shiftKey) take(place);
      else add(place);
      return true;
    },
  };
}

const round = (number) => String(Number(number.toFixed(1)));
