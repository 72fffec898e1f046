// Corrections and regressions: for each label, how often each role after the first corrected it or introduced an error.

import { el } from "./dom.js";
import { formatChange, formatCount } from "./format.js";
import { labelName } from "./labels.js";
import { rootOf } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/**
 * A label, or all of them if it has no colour. Each step is a role with its corrections and regressions.
 * @typedef {{ name: string, colour: number, steps: [number, number][], net: number }} Row
 */

/** @param {Component<{ roles: string[], rows: Row[] }>} component */
export default function (component) {
  const { roles, rows } = component.data;
  const steps = roles.flatMap((role) => [el("th", "", `${role} corrected`), el("th", "", "regressed")]);
  const head = el("tr", "", el("th", "", "Label"), ...steps, el("th", "", "Net"));
  rootOf(component).replaceChildren(el("table", "", head, ...rows.map(rowNode)));
}

/** @param {Row} row */
function rowNode(row) {
  const number = (/** @type {number} */ n, /** @type {string} */ tone) => el("td", n ? tone : "zero", formatCount(n));
  const steps = row.steps.flatMap(([corrected, regressed]) => [number(corrected, "right"), number(regressed, "wrong")]);
  const name = row.colour ? labelName(row) : row.name;
  const net = el("td", row.net ? "bold" : "zero", formatChange(row.net));
  return el("tr", row.colour ? "" : "sum", el("td", "", name), ...steps, net);
}
