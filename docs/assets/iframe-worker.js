/* Search in a page opened from a folder: browsers start no workers there, so an iframe stands in. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.appendChild(frame);
      this.inner = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== this.inner) return;
        const copy = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(copy);
        if (this.onmessage) this.onmessage(copy);
      });
      this.ready = new Promise((resolve) => {
        this.inner.document.open();
        this.inner.document.write(
          "<html><body><script>postMessage = parent.postMessage.bind(parent);" +
            "importScripts = function () { throw new Error('not needed in English') }</" +
            "script><script src='" + url + "'></" + "script></body></html>"
        );
        this.inner.document.close();
        frame.onload = resolve;
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
