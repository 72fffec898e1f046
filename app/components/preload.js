// Load modules one after the other while the browser is idle, before a page needs them. Draws nothing.

/** @import { Component } from "./streamlit_bridge.js" */

const WAIT_MS = 200;
/** @type {(callback: () => void) => void} */
const whenIdle = globalThis.requestIdleCallback ?? ((callback) => setTimeout(callback, WAIT_MS)); // missing in Safari

/** @param {Component<string[]>} component */
export default async function ({ data }) {
  for (const address of data) {
    await new Promise((resolve) => whenIdle(() => resolve(undefined)));
    await import(new URL(address, document.baseURI).href).catch(() => null);
  }
}
