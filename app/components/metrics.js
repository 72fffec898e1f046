// Key metrics side by side. A share from 0 to 1 is shown as a bar with its interval.

import { el } from "./dom.js";
import { formatScore } from "./format.js";
import { intervalBar } from "./interval_bar.js";
import { rootOf } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {{ text: string, strong: string, tone: string }} Note */
/**
 * A metric: a text, or else a share with its interval.
 *
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} [text]
 * @property {number | null} [value]
 * @property {number | null} [low]
 * @property {number | null} [high]
 * @property {Note[]} notes
 */

/** @param {Metric} metric */
function metricNode({ name, text, value = null, low = null, high = null, notes }) {
  const isShare = text === undefined;
  const shown = el("div", `metric-value${isShare && value === null ? " missing" : ""}`, text ?? formatScore(value));
  const bar = isShare ? intervalBar(value, low, high) : null;
  bar?.setAttribute("aria-hidden", "true");
  const node = el("div", "", el("div", "metric-name", name), shown, bar, ...notes.map(noteNode));
  node.setAttribute("role", "listitem");
  return node;
}

/** @param {Note} note */
function noteNode({ text, strong, tone }) {
  return el("div", "metric-note", strong ? el("b", tone, strong) : null, strong ? " " : null, text);
}

/** @param {Component<{ metrics: Metric[] }>} component */
export default function (component) {
  const root = rootOf(component);
  root.setAttribute("role", "list");
  root.replaceChildren(...component.data.metrics.map(metricNode));
}
