// The search of the site runs in a worker, and browsers start none for pages that are opened from a folder (file://).
// There, the worker's script is run inside a hidden frame instead, with the few functions of a worker that it needs.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.appendChild(frame);
      const inside = (this.inside = frame.contentWindow);
      this.early = []; // what was sent before the script had loaded
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inside.importScripts = (...urls) =>
        Promise.all(urls.map((one) => this.load(new URL(one, url).href)));
      this.load(url).then(() => {
        const waiting = this.early;
        this.early = null;
        waiting.forEach((data) => this.deliver(data));
      });
    }
    load(url) {
      return new Promise((done, failed) => {
        const script = this.inside.document.createElement("script");
        script.src = url;
        script.onload = done;
        script.onerror = failed;
        this.inside.document.head.appendChild(script);
      });
    }
    deliver(data) {
      const event = new this.inside.MessageEvent("message", { data });
      this.inside.dispatchEvent(event);
    }
    postMessage(data) {
      if (this.early) this.early.push(data);
      else this.deliver(data);
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
