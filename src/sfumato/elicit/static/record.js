// How long a trial took and what was done in it, by the monotonic clock.
//
// Of each input: the first touch, the last change and how many changes; of the window: when it lost
// and got the focus; pasted text; a browser that says it is driven by a program.

import { isTyping } from "./dom.js";

const NAME = 180;
const EVENTS = 200;
const INPUTS = 100;
// Bytes: the server leaves 14 KB for what is not the answer, which comes first.
const INPUT_BYTES = 5000;
const EVENT_BYTES = 8000;

export function newRecord() {
  let start = performance.now();
  let inputs = new Map();
  let others = [];
  const now = () => Math.max(0, Math.round(performance.now() - start) / 1000);

  function touch(name) {
    const key = String(name).slice(0, NAME);
    if (!inputs.has(key)) inputs.set(key, { first: now(), last: null, changes: 0 });
    return inputs.get(key);
  }

  function change(name) {
    const input = touch(name);
    input.last = now();
    input.changes += 1;
  }

  const note = (kind, data) => others.push({ kind, at: now(), data });
  const named = (event) => event.target.closest?.("[data-input]")?.dataset.input;
  const onFocus = () => note("focus", { lost: false });
  const onBlur = () => note("focus", { lost: true });

  return {
    touch,
    change,
    watch(element) {
      for (const kind of ["pointerdown", "focusin"]) {
        element.addEventListener(kind, (event) => named(event) && touch(named(event)));
      }
      // A dragged slider has one "change" but many "input"; a text box has its "change" too late.
      element.addEventListener("change", (event) => {
        if (named(event) && !isTyping(event.target)) change(named(event));
      });
      element.addEventListener("input", (event) => {
        if (named(event) && isTyping(event.target)) change(named(event));
      });
      element.addEventListener("paste", (event) => note("paste", { input: named(event) ?? "" }));
      window.addEventListener("focus", onFocus); // again does nothing: it is the same listener
      window.addEventListener("blur", onBlur);
    },
    // The images are visible: everything counts from now.
    begin() {
      start = performance.now();
      inputs = new Map();
      others = [];
      if (navigator.webdriver) note("hint", { webdriver: true });
    },
    end() {
      window.removeEventListener("focus", onFocus);
      window.removeEventListener("blur", onBlur);
    },
    read() {
      const used = [...inputs].slice(0, INPUTS);
      const uses = used.map(([input, { first, last, changes }]) => ({
        kind: "inputs",
        at: first,
        data: { input, first, last, changes },
      }));
      const spent = used.map(([input, { first, last }]) => [input, (last ?? first) - first]);
      return {
        timing: {
          seconds: now(),
          inputs: Object.fromEntries(
            fitting(
              spent.map(([name, time]) => [name, Math.round(time * 1000) / 1000]),
              INPUT_BYTES,
            ),
          ),
        },
        events: fitting([...uses, ...others].slice(0, EVENTS), EVENT_BYTES),
      };
    },
  };
}

function fitting(things, room) {
  const bytes = (thing) => new TextEncoder().encode(JSON.stringify(thing)).length + 1;
  return things.filter((thing) => (room -= bytes(thing)) > 0);
}
