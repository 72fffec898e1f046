// Pass files that are dropped anywhere on the page to a hidden file uploader. Draws nothing.

import { mountView } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

const INPUT = '.st-key-unseen-drop input[type="file"]';
const UPLOADER = '[data-testid="stFileUploaderDropzone"]'; // A visible uploader takes the files itself.

class FileDrop {
  constructor() {
    this.listeners = new AbortController();
    const options = { signal: this.listeners.signal };
    const mark = (/** @type {boolean} */ on) => document.body.classList.toggle("moot-dropping", on);
    for (const name of /** @type {const} */ (["dragenter", "dragover"])) {
      document.addEventListener(
        name,
        (event) => {
          if (!event.dataTransfer?.types.includes("Files")) return;
          event.preventDefault();
          mark(true);
        },
        options,
      );
    }
    document.addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || mark(false), options);
    document.addEventListener(
      "drop",
      (event) => {
        mark(false);
        const input = /** @type {HTMLInputElement | null} */ (document.querySelector(INPUT));
        const files = event.dataTransfer?.files;
        if (!files?.length || !input || /** @type {Element} */ (event.target).closest(UPLOADER)) return;
        event.preventDefault();
        const main = document.querySelector('[data-testid="stMain"]');
        if (main) main.scrollTop = 0; // at the uploader, which shows an error
        input.files = files;
        input.dispatchEvent(new Event("change", { bubbles: true }));
      },
      options,
    );
  }

  update() {}

  destroy() {
    this.listeners.abort();
    document.body.classList.remove("moot-dropping");
  }
}

/** @param {Component<null>} component */
export default function (component) {
  return mountView(component, null, () => new FileDrop());
}
