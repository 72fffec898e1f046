// The results of a trial: counts, a cell per document, a list of documents, and the change of the score.

import { button, cutText, el, icon } from "./dom.js";
import { formatCount, formatPoints } from "./format.js";
import { intervalBar } from "./interval_bar.js";
import { createLabels, findLabel, labelName, valueText } from "./labels.js";
import { announceListing, markShownRow, openDocument } from "./open_document.js";
import { isUnchanged, rootOf } from "./streamlit_bridge.js";

/** @import { Kind, LabelData, Labels, Value } from "./labels.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {"regressed" | "mixed" | "corrected" | "changed" | "wrong" | "same"} Effect */
/** @typedef {{ item: string, effect: Effect, before: Value, after: Value }} Change */
/** @typedef {{ document_id: string, effect: Effect, excerpt: string, cells: Change[] }} Row */
/**
 * A change of a score with its interval. `clear` is true if the change is significant.
 * @typedef {{ name: string, colour: number, clear: boolean, value: number | null, low: number | null,
 *   high: number | null }} ScoreChange
 */
/**
 * @typedef {object} TrialData
 * @property {Record<Effect, number>} counts
 * @property {Row[]} rows
 * @property {string} sentence
 * @property {string} note
 * @property {string} warning A limitation of the numbers, or empty.
 * @property {string} metric
 * @property {Kind} kind
 * @property {LabelData[]} labels
 * @property {ScoreChange[]} score_changes Of all labels together, and of each.
 */

/** @type {Record<Effect, string>} */
const TITLES = {
  regressed: "Regressed",
  mixed: "Regressed on one label, corrected on another",
  corrected: "Corrected",
  changed: "Changed, neither corrected nor regressed",
  wrong: "Still wrong",
  same: "Unchanged",
};
/** @type {Effect[]} */
const LISTED = ["regressed", "mixed", "corrected", "changed", "wrong"];
const MAX_CHANGES = 4;
const CHARACTER_WIDTH = 7.25;

/** @param {Component<TrialData>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  const { scrollTop } = root.querySelector(".documents") ?? { scrollTop: 0 };
  const listing = { ids: listedRows(data).map((row) => row.document_id), title: "the test" };
  const onPick = (/** @type {string} */ id) => openDocument(id, listing);
  const documents = documentList(data, onPick);
  const warning = data.warning ? el("div", "warning", icon("help"), el("span", "", data.warning)) : null;
  const plot = scorePlot(data);
  const nodes = [summary(data), warning, cells(data, onPick), documents, plot];
  root.replaceChildren(...nodes.filter((node) => node !== null));
  documents.scrollTop = scrollTop;
  markShownRow(root, "[data-id]");
  announceListing(listing);
}

/**
 * Return the documents in the order of the list: regressed ones first, unchanged ones last.
 *
 * @param {TrialData} data
 */
function listedRows({ rows }) {
  return [...LISTED, "same"].flatMap((effect) => rows.filter((row) => row.effect === effect));
}

/** @param {TrialData} data */
function summary({ counts, sentence, note }) {
  const number = (/** @type {number} */ count, /** @type {string} */ name, /** @type {string} */ tone) =>
    el("div", "", el("div", `number ${tone}`, formatCount(count)), el("div", "name", name));
  const unchanged = counts.wrong ? `unchanged, ${formatCount(counts.wrong)} still wrong` : "unchanged";
  const rest = counts.changed ? `others, ${formatCount(counts.changed)} changed` : unchanged;
  return el(
    "div",
    "summary",
    number(counts.regressed, "regressed", "wrong"),
    counts.mixed ? number(counts.mixed, "both", "") : null,
    number(counts.corrected, "corrected", "right"),
    number(counts.same + counts.wrong + counts.changed, rest, ""),
    el("div", "note", el("b", "", sentence), note),
  );
}

/** @param {TrialData} data @param {(id: string) => void} onPick */
function cells({ rows }, onPick) {
  const nodes = rows.map(({ document_id: id, effect }) => {
    const title = `${id}: ${TITLES[effect].toLowerCase()}`;
    const cell = button({ className: effect, title, ariaLabel: title }, () => onPick(id));
    cell.dataset.id = id;
    return cell;
  });
  return el("div", "cells", ...nodes);
}

/** @param {TrialData} data @param {(id: string) => void} onPick */
function documentList(data, onPick) {
  const labels = createLabels(data.labels);
  const list = el("div", { className: "documents", tabIndex: 0 });
  const longest = Math.max(0, ...data.rows.map((row) => row.document_id.length));
  list.style.setProperty("--id-width", `${Math.min(140, Math.max(44, Math.ceil(CHARACTER_WIDTH * longest)))}px`);
  for (const effect of LISTED) {
    const rows = data.rows.filter((row) => row.effect === effect);
    if (!rows.length) continue;
    list.append(el("h3", effect, `${TITLES[effect]}, ${formatCount(rows.length)}`));
    list.append(...rows.map((row) => documentRow(row, data, labels, () => onPick(row.document_id))));
  }
  if (!list.hasChildNodes()) {
    const { regressed, mixed, corrected, changed } = data.counts;
    const moved = regressed + mixed + corrected + changed > 0;
    list.append(el("h3", "", moved ? "Documents of the held-out split are not listed." : "No document changed."));
  }
  return list;
}

/** @param {Row} row @param {TrialData} data @param {Labels} labels @param {() => void} onClick */
function documentRow({ document_id: id, excerpt, cells: changes }, { kind }, labels, onClick) {
  const shown = changes.slice(0, MAX_CHANGES).map((change) => changeNode(change, kind, labels));
  const more = changes.length - shown.length;
  const moves = el("span", "changes", ...shown, more > 0 && el("span", "muted tiny", `and ${more} more`));
  const row = button(
    "document-row choice",
    onClick,
    el("span", "mono ellipsis", id),
    cutText(excerpt, "excerpt"),
    moves,
  );
  row.dataset.id = id;
  return row;
}

/** @param {Change} change @param {Kind} kind @param {Labels} labels */
function changeNode({ item, effect, before, after }, kind, labels) {
  const name = labelName(findLabel(labels, item));
  if (after !== true) name.firstElementChild?.classList.add("hollow");
  return el(
    "span",
    "change",
    effect === "regressed" ? icon("fail", "wrong") : effect === "corrected" ? icon("check", "right") : null,
    kind === "choice" ? null : name,
    el("span", "before", valueText(before, labels, "unresolved")),
    el("span", "arrow", "→"),
    el("span", "after", valueText(after, labels, "unresolved")),
  );
}

/** @param {TrialData} data */
function scorePlot({ score_changes: changes, metric }) {
  if (changes.every(({ value }) => value === null)) return null;
  const ends = changes.flatMap(({ low, high, value }) => [low ?? 0, high ?? 0, value ?? 0]);
  const end = 1.04 * Math.max(0.05, ...ends.map(Math.abs)); // with room for half a mark
  const rows = changes.map(({ name, colour, clear, value, low, high }) => {
    const isConstant = low === high && value === 0;
    const points = low === null || high === null || isConstant ? [] : [low, high];
    const interval = points.map((at) => formatPoints(at, { signed: false })).join(" to ");
    const tone = clear ? ((value ?? 0) > 0 ? " better" : " worse") : "";
    const title = colour ? labelName({ name, colour }) : el("span", "bold", name);
    const words = value === null ? ["no value"] : [el("b", "", formatPoints(value)), interval];
    const numbers = el("span", "numbers", ...words);
    return el("div", `score-change${tone}`, title, intervalBar(value, low, high, [-end, end]), numbers);
  });
  const head = el("h3", "", metric, el("small", "", "paired, 95% intervals"));
  const axis = el("div", "score-change axis", el("span", "", "no change"));
  return el("div", "score-plot", head, ...rows, axis);
}
