// One trial: its images, its question, the form that takes the answer, and the way to send it.

import { below, draft } from "./api.js";
import { h, isTyping, keyHint } from "./dom.js";
import { newRecord } from "./record.js";
import { knows, t } from "./texts.js";

const SAVE_MILLISECONDS = 100;
const FORMS = [
  "choose-one",
  "top-two",
  "sliders",
  "typicality",
  "yes-no-unsure",
  "top-class",
  "sparse",
  "distribution",
  "pairs",
  "triplets",
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
    : trial.images.map((address, place) =>
        h("img", { src: below(address), alt: t("image", { number: place + 1 }), draggable: "false" }),
      );

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
    send({ answer, ...record.read(), point });
  }

  // A reload, another tab or a refusal shall not throw half an answer away.
  let saving = null;
  function save() {
    clearTimeout(saving);
    const state = ready ? (form.draft?.() ?? null) : null;
    if (state !== null) draft.set({ trial: trial.id, state });
  }
  function touched({ target }) {
    clearTimeout(saving);
    saving = setTimeout(save, SAVE_MILLISECONDS);
    // Before the form itself speaks: what was complained of is being mended.
    if (complained && target.closest("[data-input], label, button")) say("");
  }

  let ready = false;
  const form = makeForm({
    trial,
    pictures,
    options: question.options,
    // A study may have words of its own beside an input.
    word: (name, values) => question.prompts[name] ?? t(name, values),
    prompts: question.prompts,
    changed: (name) => record.change(name),
    say,
    submit,
  });
  const kept = draft.get();
  if (kept?.trial === trial.id) form.fill(kept.state);
  else if (trial.draft !== null) form.fill(trial.draft);
  record.watch(form.element);
  for (const kind of ["input", "change", "click"]) form.element.addEventListener(kind, touched, true);
  window.addEventListener("pagehide", save);

  const oneClick = form.oneClick && trial.draft === null;
  const foot = h(
    "div",
    { class: "foot" },
    trial.can_back ? h("button", { type: "button", class: "quiet", onclick: back }, t("back")) : h("span"),
    status,
    oneClick ? h("span") : h("button", { type: "button", class: "main", onclick: submit }, t("send"), keyHint("↵")),
  );

  function onKey(event) {
    if (!ready) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.key === "Enter" && event.target instanceof HTMLButtonElement) return; // it is pressed
    if (event.key === "Enter" && event.repeat) return event.preventDefault();
    if (form.key?.(event, isTyping(event.target))) {
      touched({ target: form.element });
      return event.preventDefault();
    }
    if (event.key === "Enter" && !oneClick) {
      event.preventDefault();
      submit();
    }
    return undefined;
  }
  document.addEventListener("keydown", onKey);

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
    ],
    end() {
      clearTimeout(saving);
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

// Nobody shall answer about an image that is not there.
async function allVisible(shown, status) {
  const pictures = shown.filter((one) => one instanceof HTMLImageElement);
  try {
    await Promise.all(pictures.map((picture) => picture.decode()));
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
