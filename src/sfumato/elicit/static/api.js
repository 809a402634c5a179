// Speak with the server, and keep what must outlive this page.

const study = document.documentElement.dataset.study;
const place = (name) => `sfumato:${study}:${name}`;
const SECONDS = 20;

// Storage may be switched off; then the page works, but forgets.
function stored(storage, name) {
  return {
    get() {
      try {
        return JSON.parse(window[storage].getItem(place(name)));
      } catch {
        return null;
      }
    },
    set(value) {
      try {
        if (value === null) window[storage].removeItem(place(name));
        else window[storage].setItem(place(name), JSON.stringify(value));
      } catch {
        // full or forbidden
      }
    },
  };
}

export const session = stored("localStorage", "session"); // {token, entry, mturk}
export const unsent = stored("localStorage", "unsent"); // the body of an answer not yet stored
export const draft = stored("localStorage", "draft"); // {trial, state} of a form that is half filled
export const entry = stored("sessionStorage", "entry"); // parameters of the address until consent
export const recent = stored("localStorage", "recent"); // classes used last
export const previous = stored("sessionStorage", "previous"); // the answer of the trial before
export const pace = stored("sessionStorage", "pace"); // seconds that the last trials took
export const taste = stored("localStorage", "taste"); // "light" or "dark", where somebody chose

let token = session.get()?.token ?? null;
export const hasToken = () => token !== null;

export function setToken(value, more = {}) {
  token = value;
  session.set(value === null ? null : { token: value, ...more });
}

export class Refused extends Error {
  constructor(status, body, after) {
    super(body.error ?? "");
    this.status = status;
    this.faults = body.faults ?? [];
    this.reason = body.reason ?? null;
    this.after = after;
  }

  // Nothing was wrong with the request; it may succeed later.
  get later() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

// Addresses follow the page: a study may be served under any path.
export const below = (path) => `.${path}`;

export const get = (path) => call("GET", path);
export const post = (path, body) => call("POST", path, body);

async function call(method, path, body) {
  const headers = {};
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(below(path), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "same-origin",
      signal: AbortSignal.timeout(SECONDS * 1000),
    });
    announce(response.headers.get("X-Message"));
    const content = await response.json();
    if (response.ok) return content;
    throw new Refused(response.status, content, Number(response.headers.get("Retry-After")));
  } catch (error) {
    if (error instanceof Refused) throw error;
    // No connection, too slow, or no JSON: then something between us spoke, and not the study.
    throw new Refused(0, {}, 0);
  }
}

// What the researcher tells everybody, until it is taken away again.
function announce(message) {
  const place = document.getElementById("message");
  const text = message === null ? "" : decodeURIComponent(message);
  if (place && place.textContent !== text) place.textContent = text;
}

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Try until it is done or refused, waiting longer each time; the network coming back ends a wait.
export async function persist(attempt, whileWaiting) {
  for (let wait = 1; ; wait = Math.min(2 * wait, 30)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Refused) || !error.later) throw error;
      await pause(Math.min(error.after || wait, 120), whileWaiting);
    }
  }
}

function pause(seconds, whileWaiting) {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      window.removeEventListener("online", go);
      resolve();
    };
    const timer = setTimeout(go, seconds * 1000);
    window.addEventListener("online", go);
    whileWaiting(seconds, go);
  });
}
