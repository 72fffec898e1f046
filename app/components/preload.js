// Load a module of Streamlit while the browser is idle, before a page needs it. Draws nothing.

/** @import { Component } from "./streamlit_bridge.js" */

/** @param {Component<string>} component */
export default function ({ data }) {
  requestIdleCallback(() => import(new URL(data, document.baseURI).href).catch(() => null));
}
