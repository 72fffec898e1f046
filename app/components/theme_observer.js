// Notify the page when the system's theme changes. Moot has no other theme setting.

import "./pending_input.js"; // this component is on every page

import { mountView, notifyWhenIdle } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

class ThemeObserver {
  /** @param {HTMLElement} root */
  constructor(root) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.listeners = new AbortController();
    const notify = () => this.component?.setTriggerValue("switched", dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => notifyWhenIdle(root, notify), { signal: this.listeners.signal });
  }

  /** @param {Component<null>} component */
  update(component) {
    this.component = component;
  }

  destroy() {
    this.listeners.abort();
  }
}

/** @param {Component<null>} component */
export default function (component) {
  return mountView(component, null, (root) => new ThemeObserver(root));
}
