// Enter the study and show one screen after the other. The server decides what comes next.

import { draft, entry, get, hasToken, newKey, persist, post, Refused, session, setToken, unsent } from "./api.js";
import { dress, showTools } from "./comfort.js";
import { find, h } from "./dom.js";
import { consentScreen, plainScreen, stageScreens } from "./screens.js";
import { knows, loadTexts, t } from "./texts.js";
import { trialScreen } from "./trial.js";

const root = document.documentElement;
const channel = "BroadcastChannel" in window ? new BroadcastChannel(`sfumato:${root.dataset.study}`) : null;
let shown = null; // the screen
let leave = () => {}; // ends what the screen listens to
let busy = false;
let stale = false; // another tab went on


async function start() {
  dress();
  await loadTexts(root.lang);
  const given = takeAddress();
  const known = session.get();
  if (known && (given === null || known.entry === fingerprint(given))) return resume();
  setToken(null);
  return askConsent(given ?? {});
}

// The parameters of the address; they name the person, so they leave it at once (S1).
function takeAddress() {
  const parameters = Object.fromEntries(new URLSearchParams(location.search));
  if (Object.keys(parameters).length > 0) {
    entry.set(parameters);
    history.replaceState(null, "", location.pathname);
    return parameters;
  }
  return entry.get();
}

// Tells one entry from another on a shared computer, without keeping who it was.
function fingerprint(parameters) {
  const text = JSON.stringify(Object.entries(parameters).sort());
  let hash = 0;
  for (const character of text) hash = (Math.imul(hash, 31) + character.codePointAt(0)) | 0;
  return hash;
}

async function askConsent(parameters) {
  const preview = parameters.assignmentId === "ASSIGNMENT_ID_NOT_AVAILABLE";
  await guarded(async () => {
    const consent = await patiently(() => get("/consent"));
    if (consent.text.length === 0 && !preview) return enter(parameters, consent.version);
    const agree = () => guarded(() => enter(parameters, consent.version));
    const decline = () => {
      entry.set(null);
      show(plainScreen("declined"));
    };
    return show(consentScreen(consent.text, { agree, decline, preview }));
  });
}

async function enter(parameters, version) {
  const { token } = await patiently(() =>
    post("/api/enter", { parameters, consent_version: version, language: root.lang }),
  );
  const { assignmentId, turkSubmitTo } = parameters;
  setToken(token, { entry: fingerprint(parameters), mturk: turkSubmitTo ? { assignmentId, turkSubmitTo } : null });
  unsent.set(null);
  draft.set(null);
  entry.set(null);
  await goOn();
}

const resume = () => guarded(goOn);

// What was not sent goes first; the server then shows where the session is.
async function goOn() {
  const body = unsent.get();
  if (body !== null) {
    try {
      return await display(await deliver(body));
    } catch (error) {
      if (!(error instanceof Refused) || ![404, 409, 422].includes(error.status)) throw error;
    }
  }
  return display(await patiently(() => get("/api/screen")));
}

async function deliver(body) {
  unsent.set(body);
  try {
    const next = await persist(
      () => post("/api/answer", body),
      (seconds, now) => notice("unsent", { seconds: Math.round(seconds) }, now),
    );
    unsent.set(null);
    draft.set(null);
    return next;
  } catch (error) {
    unsent.set(null); // refused for good: sending it again would change nothing
    throw error;
  } finally {
    notice(null);
  }
}

async function patiently(attempt) {
  try {
    return await persist(attempt, (seconds, now) => notice("no-connection", { seconds: Math.round(seconds) }, now));
  } finally {
    notice(null);
  }
}

// Run something that ends in another screen; only one at a time, so a double click is one click.
async function guarded(work) {
  if (busy) return;
  busy = true;
  root.setAttribute("aria-busy", "true");
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    refuse(error);
  } finally {
    busy = false;
    root.removeAttribute("aria-busy");
  }
}

function refuse(error) {
  if (error.status === 401) {
    setToken(null);
    show(plainScreen("closed-expired"));
  } else if (error.status === 410) {
    show(plainScreen(knows(`closed-${error.reason}`) ? `closed-${error.reason}` : "closed-closed"));
  } else {
    show(plainScreen("problem", error.message, hasToken() ? resume : null));
  }
}

async function display(screen) {
  stale = false;
  shown = screen;
  channel?.postMessage(nameOf(screen));
  if (screen.stage === "trials") {
    show(
      await trialScreen(screen, {
        send: (given) => guarded(() => sendAnswer(given)),
        back: () => guarded(() => goBack(screen.trial.id)),
      }),
    );
  } else {
    const proceed = (answers) =>
      guarded(async () => display(await patiently(() => post("/api/proceed", { stage: screen.stage, answers, tries: screen.tries }))));
    show(stageScreens[screen.stage](screen, { proceed, mturk: session.get()?.mturk }));
  }
}

async function sendAnswer({ answer, timing, events, point }) {
  const body = { trial: shown.trial.id, key: newKey(), answer, timing, events };
  try {
    await display(await deliver(body));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 422) point(error.faults);
    else if (error.status === 409 || error.status === 404) await display(await patiently(() => get("/api/screen")));
    else if (error.status === 401 || error.status === 410) throw error;
    else point([{ sentence: t("refused", { reason: error.message }) }]); // the work stays where it is
  }
}

async function goBack(trial) {
  try {
    await display(await patiently(() => post("/api/back", { trial })));
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 409) throw error;
    await display(await patiently(() => get("/api/screen")));
  }
}

function show({ content, kind, progress, end, shown: isShown }) {
  leave();
  leave = end ?? (() => {});
  if (!kind?.startsWith("trial")) showTools({});
  const main = find("#main");
  main.className = kind ?? "plain";
  main.replaceChildren(...content);
  const bar = find("#progress");
  bar.hidden = !progress;
  bar.replaceChildren(...(progress ?? []));
  window.scrollTo(0, 0);
  main.focus({ preventScroll: true });
  isShown?.(); // not waited for: images may take long, and going back must work meanwhile
}

function notice(name, values = {}, now = null) {
  const place = find("#notice");
  if (name === null) return place.replaceChildren();
  return place.replaceChildren(
    h("p", {}, t(name, values)),
    now ? h("button", { type: "button", class: "quiet", onclick: now }, t("try-now")) : "",
  );
}

const nameOf = (screen) => `${screen.stage} ${screen.trial?.id ?? ""} ${screen.tries ?? ""}`;

channel?.addEventListener("message", ({ data }) => {
  if (shown === null || busy || data === nameOf(shown)) return;
  stale = true;
  leave();
  show(plainScreen("other-tab", "", resume));
});
document.addEventListener("visibilitychange", () => {
  if (stale && !document.hidden) resume();
});
// The browser may bring back an old picture of the page.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && hasToken()) resume();
});
window.addEventListener("beforeunload", (event) => {
  if (busy && unsent.get() !== null) event.preventDefault();
});

start();
