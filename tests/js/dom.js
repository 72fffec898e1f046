// A DOM for tests of modules that create nodes. Import this file before the modules.

import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><body></body>", {
  url: "http://127.0.0.1:8501/",
  pretendToBeVisual: true,
});

const names = [
  "document",
  "window",
  "AbortController",
  "MutationObserver",
  "Node",
  "Element",
  "HTMLElement",
  "HTMLButtonElement",
  "HTMLInputElement",
  "HTMLTextAreaElement",
  "sessionStorage",
  "location",
  "PopStateEvent",
];
for (const name of names) {
  Object.defineProperty(globalThis, name, { value: name === "window" ? window : window[name], configurable: true });
}
window.HTMLElement.prototype.scrollIntoView = () => {}; // jsdom has no layout
globalThis.getComputedStyle = window.getComputedStyle.bind(window);

/** Return the texts of all nodes that match a selector. */
export function texts(node, selector) {
  return [...node.querySelectorAll(selector)].map(({ textContent }) => textContent);
}
