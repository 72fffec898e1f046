// Show the top of each new page, and notify the page when the system's theme changes. Moot has no other theme setting.

import "./codebook_focus.js"; // this component is on every page
import "./double_click.js";
import "./pending_input.js";
import "./popover_focus.js";

import { mountView, notifyWhenIdle } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

class PageObserver {
  /** @param {HTMLElement} root */
  constructor(root) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.listeners = new AbortController();
    const notify = () => this.component?.setTriggerValue("switched", dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => notifyWhenIdle(root, notify), { signal: this.listeners.signal });
  }

  /** @param {Component<string>} component */
  update(component) {
    const { component: earlier } = this;
    this.component = component;
    // Streamlit keeps the scroll position if the new page is drawn before the earlier one is removed.
    if (earlier && earlier.data !== component.data) {
      const main = document.querySelector('[data-testid="stMain"]');
      if (main) main.scrollTop = 0;
    }
  }

  destroy() {
    this.listeners.abort();
  }
}

/** @param {Component<string>} component Its data are the name of the page. */
export default function (component) {
  return mountView(component, null, (root) => new PageObserver(root));
}
