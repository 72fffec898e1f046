// A confusion matrix per label: rows are the reference, columns the verdict, percentages are of the row.

import { button, cutText, el } from "./dom.js";
import { formatCount, formatPercent, formatPlural } from "./format.js";
import { rootOf } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {"tp" | "fn" | "fp" | "tn"} CellKind */
/**
 * @typedef {{ id: string, name: string, colour: number, note: string } & Record<CellKind, number>} LabelCounts
 */
/**
 * @typedef {object} ConfusionData
 * @property {LabelCounts[]} labels
 * @property {string} reference
 * @property {[string, CellKind] | null} selected A label and a cell of its matrix.
 */

/** @type {Record<CellKind, { correct: boolean, reference: string, verdict: string }>} */
const CELLS = {
  tp: { correct: true, reference: "present", verdict: "present" },
  fn: { correct: false, reference: "present", verdict: "absent" },
  fp: { correct: false, reference: "absent", verdict: "present" },
  tn: { correct: true, reference: "absent", verdict: "absent" },
};

/** Most matrices in a row. With more labels, the rows are of about the same length. */
const MAX_COLUMNS = 5;

/** @param {Component<ConfusionData>} component */
export default function (component) {
  const { data, setTriggerValue } = component;
  const matrix = (/** @type {LabelCounts} */ label) => {
    const cell = (/** @type {CellKind} */ kind) =>
      cellNode(label, kind, data, () => setTriggerValue("cell", [label.id, kind]));
    const head = el("h3", "", el("span", "swatch"), cutText(label.name), el("span", "note", label.note));
    const columns = [el("span"), el("span", "column-name", "present"), el("span", "column-name", "absent")];
    const present = [el("span", "row-name", `${data.reference} present`), cell("tp"), cell("fn")];
    const absent = [el("span", "row-name", `${data.reference} absent`), cell("fp"), cell("tn")];
    return el("section", `matrix l${label.colour}`, head, el("div", "cells", ...columns, ...present, ...absent));
  };
  const root = rootOf(component);
  const rows = Math.ceil(data.labels.length / MAX_COLUMNS);
  root.style.setProperty("--columns", String(Math.ceil(data.labels.length / rows)));
  root.replaceChildren(...data.labels.map(matrix));
}

/** @param {LabelCounts} label @param {CellKind} kind @param {ConfusionData} data @param {() => void} onClick */
function cellNode(label, kind, { reference, selected }, onClick) {
  const count = label[kind];
  const cell = CELLS[kind];
  const rowTotal = cell.reference === "present" ? label.tp + label.fn : label.fp + label.tn;
  const share = rowTotal ? count / rowTotal : 0;
  const name = kind.toUpperCase();
  const meaning = `${reference} ${cell.reference}, verdict ${cell.verdict}`;
  const node = button(
    {
      className: `cell ${cell.correct ? "correct" : "incorrect"}${count ? "" : " zero"}`,
      disabled: !count,
      ariaPressed: String(selected?.[0] === label.id && selected[1] === kind),
      ariaLabel: `${label.name}: ${meaning}: ${formatPlural(count, "document")}`,
    },
    onClick,
    el("b", "", formatCount(count)),
    el("span", "", rowTotal ? `${name} ${formatPercent(share)}` : name),
  );
  node.style.setProperty("--share", String(share));
  return node;
}
