// Everything around the trials: consent, instructions, questions about them, the end.

import { readAgain } from "./comfort.js";
import { h } from "./dom.js";
import { t } from "./texts.js";

const TEXT_LIMIT = 2000;
const MTURK = ["https://www.mturk.com", "https://worker.mturk.com", "https://workersandbox.mturk.com"];

const paragraphs = (texts) => texts.map((text) => h("p", {}, text));
const button = (name, onclick, kind = "main") => h("button", { type: "button", class: kind, onclick }, t(name));
const submit = (name) => h("button", { type: "submit", class: "main" }, t(name));

export function consentScreen(text, { agree, decline, preview }) {
  const choice = preview
    ? [h("p", { class: "remark" }, t("preview"))]
    : [h("div", { class: "actions" }, button("agree", agree), button("decline", decline, "quiet"))];
  return { content: [h("h1", {}, t("consent")), ...paragraphs(text), ...choice] };
}

export function plainScreen(name, detail = "", again = null) {
  return {
    content: [
      h("h1", {}, t(`${name}-title`)),
      h("p", {}, detail || t(name)),
      ...(again ? [h("div", { class: "actions" }, button("continue-here", again))] : []),
    ],
  };
}

function instructionsScreen({ text }, { proceed }) {
  return {
    content: [
      h("h1", {}, t("instructions")),
      ...paragraphs(text),
      h("div", { class: "actions" }, button("continue", () => proceed([]))),
    ],
  };
}

function comprehensionScreen({ questions, tries, of, wrong }, { proceed }) {
  const asked = questions.map(({ question, choices }, number) =>
    h(
      "fieldset",
      { class: wrong.includes(number) ? "asked wrong" : "asked" },
      h("legend", {}, question),
      wrong.includes(number) ? h("p", { class: "fault" }, t("not-right")) : "",
      ...choices.map((choice) =>
        h(
          "label",
          { class: "option" },
          h("input", { type: "radio", name: `question-${number}`, value: choice, required: true }),
          h("span", {}, choice),
        ),
      ),
    ),
  );
  const form = h(
    "form",
    {
      onsubmit(event) {
        event.preventDefault();
        const data = new FormData(form);
        proceed(questions.map((_, number) => data.get(`question-${number}`)));
      },
    },
    ...asked,
    h("div", { class: "actions" }, submit("continue"), h("span", { class: "remark" }, of ? t("attempt", { number: tries + 1, of }) : "")),
  );
  return {
    content: [
      h("h1", {}, t("comprehension")),
      h("p", {}, tries > 0 ? t("comprehension-again") : t("comprehension-first")),
      h("p", {}, button("read-again", readAgain, "quiet")),
      form,
    ],
  };
}

function debriefScreen({ questions }, { proceed }) {
  const boxes = questions.map((question, number) =>
    h(
      "div",
      { class: "asked" },
      h("label", { for: `debrief-${number}` }, question),
      h("textarea", { id: `debrief-${number}`, rows: 3, maxlength: TEXT_LIMIT }),
    ),
  );
  const form = h(
    "form",
    {
      onsubmit(event) {
        event.preventDefault();
        proceed(boxes.map((box) => box.lastChild.value));
      },
    },
    ...boxes,
    h("div", { class: "actions" }, submit("finish")),
  );
  return { content: [h("h1", {}, t("debrief")), h("p", {}, t("debrief-optional")), form] };
}

function copyButton(code) {
  const copied = h("span", { role: "status" });
  const copy = async () => {
    await navigator.clipboard.writeText(code);
    copied.textContent = ` ${t("copied")}`;
  };
  // Only over https, or on this machine; elsewhere a click marks the whole code.
  return navigator.clipboard ? h("span", {}, button("copy", copy, "quiet"), copied) : "";
}

function doneScreen({ code, redirect, screened_out: screenedOut }, { mturk }) {
  const onward = [];
  if (redirect) onward.push(h("a", { class: "main", href: redirect, rel: "noreferrer" }, t("return")));
  // Only Amazon's own hosts: anything else in the address would be an open redirect.
  if (mturk && MTURK.includes(mturk.turkSubmitTo)) {
    onward.push(
      h(
        "form",
        { method: "post", action: `${mturk.turkSubmitTo}/mturk/externalSubmit` },
        h("input", { type: "hidden", name: "assignmentId", value: mturk.assignmentId }),
        h("input", { type: "hidden", name: "code", value: code }),
        submit("return"),
      ),
    );
  }
  return {
    content: [
      h("h1", {}, t(screenedOut ? "screened-out-title" : "done-title")),
      h("p", {}, t(screenedOut ? "screened-out" : "done")),
      ...(code ? [h("p", {}, t("code")), h("p", {}, h("span", { class: "code", tabindex: 0 }, code), " ", copyButton(code))] : []),
      ...(onward.length ? [h("div", { class: "actions" }, ...onward)] : []),
    ],
  };
}

export const stageScreens = {
  instructions: instructionsScreen,
  comprehension: comprehensionScreen,
  debrief: debriefScreen,
  done: doneScreen,
  closed: ({ reason }) => plainScreen(`closed-${reason}`),
};
