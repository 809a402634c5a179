// Bring the page up to date when the server says that something changed.

const base = document.body.dataset.base;
const state = document.getElementById("state");
let busy = false;

function isInUse(main) {
  const inside = main.contains(document.activeElement) && document.activeElement;
  return Boolean(inside && inside.matches("input, select, textarea, button"))
    || main.querySelector("details[open] form") !== null;
}

async function update() {
  const main = document.getElementById("live");
  if (busy || isInUse(main)) return; // what somebody is about to press must not move
  busy = true;
  try {
    const reply = await fetch(location.href, { credentials: "same-origin" });
    if (reply.status === 401) { location.reload(); return; }
    if (!reply.ok) throw new Error(String(reply.status));
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const fresh = page.getElementById("live");
    if (!fresh || isInUse(main)) return;
    const open = [...main.querySelectorAll("details")].map((one) => one.open);
    [...fresh.querySelectorAll("details")].forEach((one, at) => { one.open = Boolean(open[at]); });
    const places = [...main.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
    main.replaceChildren(...fresh.childNodes);
    [...main.querySelectorAll(".scroll")].forEach((one, at) => { one.scrollLeft = places[at] || 0; });
    state.textContent = "";
  } catch {
    state.textContent = "The server does not answer; trying again.";
  } finally {
    busy = false;
  }
}

if (!document.querySelector("main [role=status]")) { // not on the page after an act
  const events = new EventSource(`${base}/events`);
  let first = true;
  events.addEventListener("changed", () => { if (first) first = false; else update(); });
  events.addEventListener("error", () => { state.textContent = "The connection is interrupted; trying again."; });
  events.addEventListener("open", () => { state.textContent = ""; });
  addEventListener("pagehide", () => events.close());
}
