// A form in a notebook: the modules come as texts, and answers go to Python instead of a server.
//
// Everything stands in a shadow root, so that neither the notebook's styles nor ours reach the other.

const IMPORT = /(from |import\()(["'])(\.[^"']+)\2/g;

// Each module becomes an address of its own; those it imports come first.
function addressesOf(sources) {
  const made = new Map();
  const resolve = (from, to) => new URL(to, `https://x/${from}`).pathname.slice(1);
  function make(name) {
    if (!made.has(name)) {
      const text = sources[name].replace(IMPORT, (_, before, quote, to) => `${before}${quote}${make(resolve(name, to))}${quote}`);
      made.set(name, URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    }
    return made.get(name);
  }
  return make;
}

async function render({ model, el }) {
  const address = addressesOf(model.get("modules"));
  const [{ h, isTyping, keyHint }, { t, useTexts }, { makeForm }] = await Promise.all(
    ["dom.js", "texts.js", `forms/${model.get("form")}.js`].map((name) => import(address(name))),
  );
  useTexts(model.get("words"));
  const root = el.attachShadow({ mode: "open" });
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches || document.body.dataset.jpThemeLight === "false";
  el.dataset.theme = dark ? "dark" : "light";
  const main = h("main", { tabindex: 0 });
  root.append(h("style", {}, model.get("style")), main);

  function show() {
    const trial = model.get("trial");
    if (trial === null) return main.replaceChildren(h("h1", { class: "wording" }, t("done-title")), h("p", {}, model.get("told")));
    const begun = performance.now();
    const status = h("p", { id: "status", role: "alert" });
    const pictures = trial.images.map((source, place) => h("img", { src: source, alt: t("image", { number: place + 1 }) }));
    const texts = trial.texts.map((fields) => h("div", { class: "text" }, ...fields.map(([name, said]) => h("p", {}, fields.length > 1 ? `${name}: ` : "", said))));
    const shown = pictures.length ? pictures : texts;
    const say = (text) => (status.textContent = text);
    const submit = () => {
      const { answer, problem } = form.read();
      if (problem) return say(problem);
      return model.send({ kind: "answer", item: trial.id, answer, seconds: Math.round(performance.now() - begun) / 1000 });
    };
    const form = makeForm({ trial, pictures: shown, options: trial.question.options, prompts: {}, word: t, changed: () => {}, say, submit });
    if (trial.draft !== null) form.fill(trial.draft);
    const layout = form.layout ?? "side";
    main.className = `trial ${layout} ${trial.question.form}`;
    main.replaceChildren(
      h("h1", { class: "wording" }, trial.question.wording),
      ...(layout === "own" ? [] : [h("div", { class: "images" }, ...shown)]),
      form.element,
      h(
        "div",
        { class: "foot" },
        trial.number > 1 ? h("button", { type: "button", class: "quiet", onclick: () => model.send({ kind: "back" }) }, t("back")) : h("span"),
        status,
        h("span", {}, t("progress", { number: trial.number, of: trial.of }), " ", form.oneClick ? "" : h("button", { type: "button", class: "main", onclick: submit }, t("send"), keyHint("↵"))),
      ),
    );
    main.onkeydown = (event) => {
      event.stopPropagation(); // the notebook has keys of its own
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (event.key === "Enter" && event.target instanceof HTMLButtonElement) return;
      if (form.key?.(event, isTyping(event.target))) event.preventDefault();
      else if (event.key === "Enter" && !form.oneClick) submit();
    };
    main.focus({ preventScroll: true });
    return undefined;
  }
  model.on("change:trial", show);
  model.on("msg:custom", ({ problem }) => {
    if (problem) root.querySelector("#status").textContent = problem;
  });
  show();
}

export default { render };
