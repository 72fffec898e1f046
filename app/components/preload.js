// Load modules one after the other while the browser is idle, before a page needs them. Draws nothing.

/** @import { Component } from "./streamlit_bridge.js" */

/** @param {Component<string[]>} component */
export default async function ({ data }) {
  for (const address of data) {
    await new Promise((resolve) => requestIdleCallback(resolve));
    await import(new URL(address, document.baseURI).href).catch(() => null);
  }
}
