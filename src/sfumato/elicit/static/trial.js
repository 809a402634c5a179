// One trial: its images, its question, the form that takes the answer, and the way to send it.

import { below, draft, previous } from "./api.js";
import { enlargeImages, keepPace, readAgain, showTools, timeLeft } from "./comfort.js";
import { h, isTyping, keyHint } from "./dom.js";
import { newRecord } from "./record.js";
import { knows, t } from "./texts.js";

const SAVE_MILLISECONDS = 100;
const NOTE_LETTERS = 1000;
const PLAYERS = { ".mp3": "audio", ".wav": "audio", ".ogg": "audio", ".m4a": "audio", ".mp4": "video", ".webm": "video" };
const FORMS = [
  "choose-one",
  "top-two",
  "sliders",
  "typicality",
  "yes-no-unsure",
  "top-class",
  "sparse",
  "likely-set",
  "ranking",
  "confidence",
  "distribution",
  "rating",
  "number",
  "multi-label",
  "three-point",
  "own-and-others",
  "pairs",
  "triplets",
  "preference",
  "mix",
];

export async function trialScreen(screen, { send, back }) {
  const { trial, preload } = screen;
  const { question } = trial;
  if (!FORMS.includes(question.form)) throw new Error(`unknown form ${question.form}`);
  const { makeForm } = await import(`./forms/${question.form}.js`);

  const record = newRecord();
  const status = h("p", { id: "status", role: "alert" });
  const pictures = trial.texts.length
    ? trial.texts.map(textBlock)
    : trial.images.map(pictureOf);

  let complained = false; // what is said is about an answer that could not be sent
  function point(faults) {
    const sentences = faults.map(({ fault, sentence }) => (knows(`fault-${fault}`) ? t(`fault-${fault}`) : sentence));
    say([...new Set(sentences)].join(" "), faults[0]?.field);
    complained = true;
  }

  function say(text, field = "") {
    complained = false;
    status.textContent = text;
    for (const input of form.element.querySelectorAll("[data-field]")) {
      input.toggleAttribute("data-fault", text !== "" && input.dataset.field === field);
    }
  }

  function submit() {
    if (!ready) return;
    const { answer, problem, field } = form.read();
    if (problem) {
      say(problem, field);
      complained = true;
      return;
    }
    say("");
    save();
    const { timing, events } = record.read();
    keepPace(timing.seconds);
    const written = noteBox?.value.trim();
    if (written) events.unshift({ kind: "note", at: timing.seconds, data: { text: written } });
    previous.set(form.draft?.() ?? answer);
    send({ answer, timing, events, point });
  }

  // A reload, another tab or a refusal shall not throw half an answer away.
  let saving = null;
  const now = () => JSON.stringify(form.draft?.() ?? null);
  function save() {
    clearTimeout(saving);
    const state = ready ? (form.draft?.() ?? null) : null;
    if (state !== null) draft.set({ trial: trial.id, state });
    if (ready && past.at(-1) !== now()) past.push(now());
    undoing.disabled = past.length < 2;
  }
  function touched({ target, type }) {
    clearTimeout(saving);
    if (type === "input") saving = setTimeout(save, SAVE_MILLISECONDS);
    else saving = setTimeout(save, 0); // when the form has heard of it
    // Before the form itself speaks: what was complained of is being mended.
    if (complained && target.closest("[data-input], label, button")) say("");
  }

  // A line of one's own beside the answer, where the study asks for it.
  const { note } = document.documentElement.dataset;
  const noteBox = note ? h("textarea", { rows: 1, maxlength: NOTE_LETTERS, "data-input": "note", "aria-label": note, placeholder: note }) : null;

  let ready = false;
  function build(state) {
    const made = makeForm({
      trial,
      pictures,
      options: question.options,
      // A study may have words of its own beside an input.
      word: (name, values) => question.prompts[name] ?? t(name, values),
      prompts: question.prompts,
      changed: (name) => record.change(name),
      say: (...told) => form && say(...told),
      submit: noteBox ? () => {} : submit,
    });
    if (state !== null) made.fill(state);
    record.watch(made.element);
    for (const kind of ["input", "change", "click"]) made.element.addEventListener(kind, touched, true);
    return made;
  }
  // A form that is made anew forgets everything: so undoing needs nothing of it but to be filled.
  function refill(state) {
    const place = document.activeElement?.closest("[data-input]")?.dataset.input;
    const made = build(state);
    form.element.replaceWith(made.element);
    form = made;
    say("");
    if (place) form.element.querySelector(`[data-input="${CSS.escape(place)}"]`)?.focus();
    record.change("undo");
  }
  function undo() {
    clearTimeout(saving);
    if (past.at(-1) !== now()) past.push(now()); // what the timer has not kept yet
    if (past.length < 2) return;
    past.pop();
    refill(JSON.parse(past.at(-1)));
    save();
  }
  function sameAgain() {
    if (previous.get() === null) return;
    refill(previous.get());
    if (form.oneClick) submit();
    else save();
  }

  const kept = draft.get();
  let form = null;
  form = build(kept?.trial === trial.id ? kept.state : trial.draft);
  const past = [now()];
  window.addEventListener("pagehide", save);

  const oneClick = form.oneClick && trial.draft === null && !noteBox;
  const canUndo = form.draft !== undefined;
  const way = (name, sign, onclick, more = {}) =>
    h("button", { type: "button", class: "quiet way", "aria-label": t(name), title: t(name), onclick, ...more }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "words" }, t(name)));
  const undoing = way("undo", "↶", undo, { disabled: true });
  const hasSame = "same" in document.documentElement.dataset && previous.get() !== null && trial.draft === null;
  const foot = h(
    "div",
    { class: "foot" },
    noteBox ?? "",
    h(
      "div",
      { class: "ways" },
      trial.can_back ? way("back", "←", back) : "",
      canUndo ? undoing : "",
      hasSame ? way("same", "=", sameAgain) : "",
    ),
    status,
    oneClick ? h("span") : h("button", { type: "button", class: "main", onclick: submit }, t("send"), keyHint("↵")),
  );

  const large = pictures.filter((one) => one instanceof HTMLImageElement);
  const enlarge = large.length > 0 ? () => enlargeImages(large) : null;
  for (const picture of large) picture.addEventListener("click", () => picture.closest("button") || enlarge());

  function onKey(event) {
    if (!ready || document.querySelector("dialog")) return;
    const typing = isTyping(event.target);
    if ((event.ctrlKey || event.metaKey) && event.key === "z" && !typing) {
      event.preventDefault();
      if (canUndo) undo();
      else if (trial.can_back) back();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.key === "Enter" && event.target instanceof HTMLButtonElement) return; // it is pressed
    if (event.key === "Enter" && event.repeat) return event.preventDefault();
    if (!typing && OWN_KEYS[event.key]) {
      event.preventDefault();
      return OWN_KEYS[event.key]();
    }
    if (form.key?.(event, typing)) {
      touched({ target: form.element });
      return event.preventDefault();
    }
    if (event.key === "Enter" && !oneClick && !(event.target instanceof HTMLTextAreaElement)) {
      event.preventDefault();
      submit();
    }
    return undefined;
  }
  const OWN_KEYS = {
    "?": readAgain,
    ...(enlarge ? { z: enlarge } : {}),
    ...(hasSame ? { "=": sameAgain } : {}),
    ...(trial.can_back && form.oneClick ? { Backspace: back } : {}),
  };
  document.addEventListener("keydown", onKey);
  showTools({ isTrial: true, enlarge });

  const layout = form.layout ?? "side";
  const images = layout === "own" ? [] : [h("div", { class: "images" }, ...pictures)];
  return {
    kind: `trial ${layout} ${question.form}`,
    content: [
      h(
        "h1",
        { class: "wording" },
        trial.practice ? h("span", { class: "practice" }, t("practice")) : "",
        question.wording,
      ),
      ...images,
      form.element,
      foot,
    ],
    progress: [
      h("progress", { max: 1, value: screen.progress, "aria-label": t("progress-name") }),
      h("span", {}, t("progress", { number: trial.number, of: trial.of })),
      h("span", { class: "left-over" }, timeLeft(trial.of - trial.number + 1)),
    ],
    end() {
      clearTimeout(saving);
      document.querySelector("dialog")?.close();
      window.removeEventListener("pagehide", save);
      document.removeEventListener("keydown", onKey);
      record.end();
    },
    async shown() {
      form.element.inert = true;
      while (!(await allVisible(pictures, status))) {
        // each round waits for somebody to ask for the images again
      }
      await new Promise(requestAnimationFrame);
      record.begin();
      ready = true;
      form.element.inert = false; // not before: an answer that is not sent yet would look given
      for (const address of preload) new Image().src = below(address);
    },
  };
}

// A text with its fields; a single field needs no name. Text nodes: nothing in it is markup.
// Those that are read on their own can be scrolled by keyboard; inside a button a span must do.
function textBlock(fields) {
  const named = fields.length > 1;
  return h(
    "span",
    { class: "text", tabindex: "0" },
    ...fields.map(([name, text]) =>
      h("span", { class: "field" }, named ? h("b", {}, name.replaceAll("_", " ")) : null, h("span", { class: "said" }, text)),
    ),
  );
}

// An image, or the player of a recording: the ending of the address says which.
function pictureOf(address, place) {
  const source = PLAYERS[/\.\w+$/.exec(address)?.[0]];
  if (!source) return h("img", { src: below(address), alt: t("image", { number: place + 1 }), draggable: "false" });
  return h(source, { src: below(address), controls: true, preload: "auto", playsinline: true, "aria-label": t("recording", { number: place + 1 }) });
}

const playable = (player) =>
  new Promise((resolve, reject) => {
    if (player.readyState >= HTMLMediaElement.HAVE_METADATA) resolve();
    player.addEventListener("loadedmetadata", resolve, { once: true });
    player.addEventListener("error", reject, { once: true });
    if (player.error) reject(player.error);
  });

// Nobody shall answer about an image that is not there.
async function allVisible(shown, status) {
  const pictures = shown.filter((one) => "src" in one);
  try {
    await Promise.all(pictures.map((picture) => picture.decode?.() ?? playable(picture)));
    return true;
  } catch {
    await new Promise((resolve) => {
      status.replaceChildren(
        t("no-image"),
        " ",
        h("button", { type: "button", class: "quiet", onclick: resolve }, t("try-now")),
      );
    });
    status.replaceChildren();
    for (const picture of pictures) picture.src = picture.getAttribute("src");
    return false;
  }
}
