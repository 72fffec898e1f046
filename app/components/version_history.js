// The versions of a prompt or codebook as a tree, with their scores, costs and held-out scores.

import { button, el } from "./dom.js";
import { formatCount, formatMoney, formatScore } from "./format.js";
import { intervalBar } from "./interval_bar.js";
import { isUnchanged, rootOf } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/**
 * @typedef {object} Version
 * @property {string} name
 * @property {string} label The name as it is shown.
 * @property {string} parent
 * @property {number} depth In the tree.
 * @property {string} note
 * @property {boolean} is_default
 * @property {boolean} is_draft
 * @property {boolean} is_open True if the editor shows it.
 * @property {string} runs The runs that use it.
 * @property {number | null} score On the development split.
 * @property {number | null} held_out The score on the held-out split, if it was computed.
 * @property {number | null} n
 * @property {number | null} cost
 */
/**
 * @typedef {object} HistoryData
 * @property {Version[]} rows
 * @property {string} metric
 * @property {string} use The command that makes a version the one of new runs.
 * @property {string[]} locked The triggers (use, open) that would replace a draft.
 */

const INDENT = 14;

/** @param {Component<HistoryData>} component */
export default function (component) {
  const { data, setTriggerValue } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  const withHeldOut = data.rows.some(({ held_out }) => held_out !== null);
  const withRuns = data.rows.some(({ runs }) => runs);
  const number = (/** @type {string} */ text) => el("th", "number", text);
  const head = [
    el("th", "", "Version"),
    number(data.metric),
    withHeldOut && number("Held out"),
    number("n"),
    number("Cost"),
    el("th", "", "Note"),
    withRuns && el("th", "", "Used by"),
    el("th", { ariaLabel: "Actions" }),
  ];
  const rows = data.rows.toReversed().map((version) => {
    const { note, runs } = version;
    return el(
      "tr",
      version.is_open ? "open" : "",
      nameCell(version),
      el("td", "number bold", formatScore(version.score)),
      withHeldOut && heldOutCell(version),
      el("td", "number", version.n ? formatCount(version.n) : ""),
      el("td", "number", version.n ? formatMoney(version.cost) : ""),
      el("td", { className: "note ellipsis", title: note }, note),
      withRuns && el("td", { className: "muted runs ellipsis", title: runs }, runs),
      actionsCell(version, data, setTriggerValue),
    );
  });
  root.replaceChildren(el("table", "", el("tr", "", ...head), ...rows));
}

/** @param {Version} version */
function nameCell({ label, parent, depth, is_draft }) {
  const dot = el("span", is_draft ? "dot active" : "dot");
  dot.style.marginLeft = `${INDENT * depth}px`;
  const cell = el("td", "", dot, is_draft ? el("b", "", label) : label);
  if (parent) cell.title = `made from ${parent}`;
  return cell;
}

/** @param {Version} version @param {HistoryData} data @param {(name: string, value: string) => void} notify */
function actionsCell({ name, label, is_default, is_draft, is_open }, { use, locked }, notify) {
  const action = (/** @type {string} */ text, /** @type {string} */ trigger) => {
    const disabled = locked.includes(trigger);
    const title = disabled ? "Save or discard the draft first" : "";
    const properties = { className: "button ghost", ariaLabel: `${text}: ${label}`, disabled, title };
    return button(properties, () => notify(trigger, name), text);
  };
  const cell = el("td", "number");
  const uses = "The runs of this project use it";
  if (is_default) cell.append(el("span", { className: "badge", title: uses }, "default"));
  else if (is_draft) cell.append(el("span", "badge run", "draft"));
  else cell.append(action(use, "use"));
  if (!is_draft && !is_open) cell.append(" ", action("Edit", "open"));
  return cell;
}

/** @param {Version} version */
function heldOutCell({ score, held_out }) {
  if (held_out === null) return el("td");
  /** @type {[number, number]} */
  const range = Math.min(score ?? 0, held_out) < 0 ? [-1, 1] : [0, 1]; // correlations may be negative
  if (score === null) {
    const bar = intervalBar(held_out, null, null, range);
    return el("td", { title: `held out ${formatScore(held_out)}` }, bar, ` ${formatScore(held_out)}`);
  }
  const bar = intervalBar(score, Math.min(score, held_out), Math.max(score, held_out), range);
  bar.append(...intervalBar(held_out, null, null, range).children);
  const gap = formatScore(Math.abs(score - held_out));
  const title = `development ${formatScore(score)}, held out ${formatScore(held_out)}: a gap of ${gap}`;
  return el("td", { title }, bar, ` ${formatScore(held_out)}`);
}
