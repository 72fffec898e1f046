// The difference of two texts, with the line numbers of both.

import { el } from "./dom.js";
import { isUnchanged, rootOf } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {"same" | "added" | "removed"} Kind */
/** @typedef {{ op: Kind, before: number | null, after: number | null, pieces: [Kind, string][] }} Line */

const SIGNS = { same: "", added: "+", removed: "−" };
/** @type {Record<Kind, "span" | "ins" | "del">} */
const TAGS = { same: "span", added: "ins", removed: "del" };
const CONTEXT_HEIGHT = 60; // pixels above the first change

/** @param {Component<{ lines: Line[] }>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  const rows = data.lines.map(({ op, before, after, pieces }) => {
    const text = el("span", "", ...pieces.map(([kind, piece]) => el(TAGS[kind], "", piece)));
    const numbers = [before, after].map((number) => el("span", "", number ? String(number) : ""));
    return el("div", op === "same" ? "" : op, ...numbers, el("span", "", SIGNS[op]), text);
  });
  const same = data.lines.every(({ op }) => op === "same");
  root.replaceChildren(...(same ? [el("div", "empty", "No differences.")] : []), ...rows);
  const first = root.querySelector(".added, .removed");
  if (first instanceof HTMLElement) root.scrollTop = Math.max(0, first.offsetTop - root.offsetTop - CONTEXT_HEIGHT);
}
