// Code of the review grid's frame, loaded by review_grid_loader.js.
//
// Every edit is sent to the studio at once (review_client.js). A cell shows its edit until the page has rows that were
// read after the edit was saved, so an older answer does not revert a second click. The page reruns a little later.

import { el, setText, shortcutOf } from "./dom.js";
import { ReviewClient } from "./review_client.js";
import { REACTION_MS, samplingOf } from "./review_queue.js";
import { hasLeft, isLeaving, notifyWhenIdle } from "./streamlit_bridge.js";
import { addDigit, DIGITS_MS, nextRating } from "./typed_rating.js";

/** @import { SaveState } from "./review_client.js" */

/**
 * The value of a cell: "1" present, "0" absent, "?" unresolved; else a rating or the id of a label.
 * @typedef {string} CellValue
 */
/**
 * A row: cells by field, `_id`, the time `_read_at` at which it was read, by label (`m_LABEL`) letters that mark cells
 * (g differs from gold, d disputed, e edited), and `_sampling`, the JSON of its sampling record if it is in the queue.
 * @typedef {Record<string, any>} RowData
 */
/**
 * The parts of AG Grid's interface that this module uses.
 *
 * @typedef {object} RowNode
 * @property {string} id
 * @property {RowData} data
 * @property {number} rowIndex
 * @property {number} rowTop
 * @property {number} rowHeight
 * @property {(field: string, value: string) => void} setDataValue
 */
/** @typedef {{ getColId(): string, getColDef(): any, getMinWidth(): number, getActualWidth(): number, isVisible(): boolean }} Column */
/**
 * @typedef {object} GridApi
 * @property {() => { rowIndex: number, column: Column } | null} getFocusedCell
 * @property {(name: "context") => GridContext} getGridOption
 * @property {(id: string) => Column} getColumn
 * @property {() => Column[]} getColumns
 * @property {(id: string) => RowNode | undefined} getRowNode
 * @property {(index: number) => RowNode | undefined} getDisplayedRowAtIndex
 * @property {() => number} getDisplayedRowCount
 * @property {() => RowNode[]} getSelectedNodes
 * @property {(options: { force?: boolean, columns?: string[] }) => void} refreshCells
 * @property {() => void} refreshHeader
 * @property {(columns: string[]) => void} autoSizeColumns
 * @property {(columns: string[], visible: boolean) => void} setColumnsVisible
 * @property {() => { top: number, bottom: number }} getVerticalPixelRange
 * @property {(row: number) => void} ensureIndexVisible
 * @property {(row: number, column: Column) => void} setFocusedCell
 */
/** @typedef {{ api: GridApi, node: RowNode, data: RowData, column: Column, colDef: any, value: any, newValue: CellValue }} CellParams */
/**
 * Data from Python (`app/screens/review/grid.py`).
 *
 * @typedef {object} GridContext
 * @property {string | null} focus
 * @property {"multilabel" | "choice" | "rating"} kind
 * @property {{ run: string, actor: string }} head
 * @property {string[]} fields Fields of the labels, in the order of their keys. A single choice has one field.
 * @property {Record<string, CellValue[]>} values Values that a click cycles through, by field.
 * @property {boolean} boxes True to show labels as check boxes.
 * @property {boolean} all True to show squares of absent labels too.
 * @property {string[]} optional Columns that are hidden if rows are too wide, in this order.
 * @property {Record<string, string>} label_names Names of labels by id.
 * @property {string[]} names
 * @property {string[]} colours
 */

const REFRESHED_AT_ONCE = 60;
const MAX_SELECTED = 500;
const NOTIFY_MS = 600;
const RETRY_MS = 100;
const SCROLLBAR = 16;
const MANY_LABELS = 6;
const MAX_ID_CHARACTERS = 13;

/** Edits that the rows do not show yet, by row and field. @type {Map<string, { value: CellValue, read: number }>} */
const edits = new Map();
/** Documents whose rows have changed. @type {Set<string>} */
const touched = new Set();
/** @type {ReviewClient} */
let client;
/** @type {string | null} */
let focusedRow = null;
/** The place of the focused row when it was noted. */
let focusedIndex = -1;
/** The row that a key has scrolled into view last, and when. */
let revealed = { id: "", at: -Infinity };
/** The focused row that the page knows. @type {string | null} */
let sentRow = null;
/** Number of notifications of the page. */
let revision = 0;
/** The notification that the page received last. */
let sentRevision = 0;
let sentState = "";
/** True after the user has left the grid: a click on another view may follow at once, also while the page runs. */
let isUrgent = false;
let refreshing = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let notifyTimer;

/** @param {GridApi} api */
const contextOf = (api) => api.getGridOption("context");
/** @param {Column | undefined} column */
const isLabel = (column) => column?.getColId().startsWith("v_");
/** @param {RowNode} node @param {string} field */
const editKey = (node, field) => `${node.id}/${field}`;

// Values and edits

/** @param {Pick<CellParams, "node" | "data" | "column">} params */
export function getValue({ node, data, column }) {
  return currentValue(node, data, column.getColId());
}

/** @param {RowNode} node @param {RowData} data @param {string} field */
function currentValue(node, data, field) {
  const edit = edits.get(editKey(node, field));
  if (edit && data._read_at < edit.read) return edit.value;
  edits.delete(editKey(node, field));
  return data[field];
}

/**
 * Show a value until newer rows arrive. Returns a function for the time of the action's answer, null if it was refused.
 *
 * @param {RowNode} node
 * @param {string} field
 * @param {CellValue} value
 * @returns {(read: number | null) => void}
 */
function editCell(node, field, value) {
  const edit = { value, read: Infinity };
  edits.set(editKey(node, field), edit);
  return (read) => {
    edit.read = read ?? 0; // every row is newer than a refused edit
  };
}

/** @param {CellParams} params */
export function setValue({ api, node, data, column, newValue }) {
  const field = column.getColId();
  if (field === "_revision") {
    data[field] = newValue;
    return true;
  }
  const { kind } = contextOf(api);
  const value = kind === "multilabel" ? newValue === "1" : kind === "rating" ? Number(newValue) : newValue;
  act(api, "set", { document: node.id, item: field.slice(2), value }, editCell(node, field, newValue));
  return true;
}

/**
 * Perform an action.
 *
 * @param {GridApi} api
 * @param {string} name
 * @param {Record<string, unknown>} fields
 * @param {(read: number | null) => void} [onAnswer] Gets the time of the answer, or null if the action was refused.
 */
async function act(api, name, fields, onAnswer = () => {}) {
  const answer = await client.act(name, fields);
  onAnswer(answer?.read ?? null);
  for (const id of answer?.touched ?? []) touched.add(id);
  refreshRows(api);
  api.refreshCells({ force: true });
  notifyLater(api, NOTIFY_MS);
}

/**
 * Reload the rows that actions have changed. Neither "Saved" nor other actions wait for this.
 *
 * @param {GridApi} api
 */
async function refreshRows(api) {
  if (refreshing || client.pending.length) return;
  refreshing = true;
  while (touched.size) {
    const documents = [...touched].slice(0, REFRESHED_AT_ONCE);
    for (const id of documents) touched.delete(id);
    const answer = await client.query("cells", { documents });
    if (client.pending.length) {
      // A new action may have changed these rows. Its answer reloads them.
      for (const id of documents) touched.add(id);
      break;
    }
    for (const row of answer.cells) {
      const node = api.getRowNode(row._id);
      if (node) Object.assign(node.data, row);
    }
    api.refreshCells({ force: true });
  }
  refreshing = false;
}

/**
 * Notify the page by changing a cell of a hidden column.
 *
 * @param {GridApi} api
 * @param {number} wait
 */
function notifyLater(api, wait) {
  clearTimeout(notifyTimer);
  notifyTimer = setTimeout(() => notifyWhenIdle(document.body, () => notify(api)), wait);
}

/** @param {GridApi} api */
function notify(api) {
  clearTimeout(notifyTimer);
  notifyTimer = undefined;
  revision += 1;
  api.getDisplayedRowAtIndex(0)?.setDataValue("_revision", String(revision));
}

/**
 * Give a cell its next value; of a mean between two points, the nearest point.
 *
 * @param {GridApi} api
 * @param {RowNode} node
 * @param {string} field
 */
function toggle(api, node, field) {
  if (!node.data) return;
  const { kind, values } = contextOf(api);
  const value = getValue({ node, data: node.data, column: api.getColumn(field) });
  const place = values[field].indexOf(value);
  const isMean = kind === "rating" && place < 0 && value !== "?";
  const next = values[field][(place + 1) % values[field].length];
  node.setDataValue(field, isMean ? String(Math.round(Number(value))) : next);
}

/** The number typed last, which a further digit continues. */
let typed = { cell: "", value: 0, time: 0 };

/** @param {GridApi} api @param {string} field */
function scaleOf(api, field) {
  const points = contextOf(api).values[field].map(Number);
  return { min: points[0], max: points[points.length - 1] };
}

/**
 * Rate a cell by a digit. Digits that follow soon continue the number, as far as the scale allows it.
 *
 * @param {GridApi} api
 * @param {RowNode} node
 * @param {string} field
 * @param {number} digit
 * @param {number} time Milliseconds.
 */
function rateByDigit(api, node, field, digit, time) {
  const cell = editKey(node, field);
  const scale = scaleOf(api, field);
  const before = typed.cell === cell && time - typed.time < DIGITS_MS ? typed.value : 0;
  const value = addDigit(before, digit, scale) ?? addDigit(0, digit, scale);
  if (value === null || !node.data) return;
  typed = { cell, value, time };
  if (value >= scale.min) node.setDataValue(field, String(value));
}

/** @param {GridApi} api @param {RowNode} node @param {string} field @param {1 | -1} step */
function stepRating(api, node, field, step) {
  if (!node.data) return;
  const value = getValue({ node, data: node.data, column: api.getColumn(field) });
  node.setDataValue(field, String(nextRating(value === "?" ? null : Number(value), scaleOf(api, field), step)));
}

/** @param {CellParams} params */
export function handleClick({ api, node, column }) {
  if (isLabel(column)) toggle(api, node, column.getColId());
}

// Keys. The grid calls this handler before it handles a key. Its event onCellKeyDown is later, when a fast user is
// already on the next row.

/** Events whose action was performed. @type {WeakSet<KeyboardEvent>} */
const handled = new WeakSet();

/**
 * Perform the action of a key. Returns true if the grid must not handle the key.
 *
 * @param {CellParams & { event: KeyboardEvent }} params
 */
export function handleKey(params) {
  const { event } = params;
  const node = movedRow(params.api, params.node.rowIndex) ?? params.node;
  const action = actionOf({ ...params, node });
  if (!action) return false;
  event.preventDefault(); // Space would scroll
  if (event.type === "keydown" && !event.repeat && !handled.has(event)) {
    handled.add(event);
    action();
  }
  return true;
}

/** @param {CellParams & { event: KeyboardEvent }} params @returns {(() => void) | null} */
function actionOf({ api, node, column, event }) {
  const { ctrlKey, metaKey, altKey, shiftKey } = event;
  const key = shortcutOf(event);
  const undo = (/** @type {"undo" | "redo"} */ name) => {
    // It may reopen a document that is earlier in the queue: no row counts as drawn until the page has new rows.
    for (const { data } of displayedNodes(api)) data._sampling = null;
    act(api, name, {});
  };
  if ((ctrlKey || metaKey) && key === "z") return () => undo(shiftKey ? "redo" : "undo");
  if (ctrlKey || metaKey || altKey) return null;
  if (key === " " && isLabel(column)) return () => toggle(api, node, column.getColId());
  const { kind, fields, values } = contextOf(api);
  if (kind === "rating" && isLabel(column)) {
    // As in Focus, a digit is the rating of the focused dimension, not the place of a dimension.
    const field = column.getColId();
    if (/^[0-9]$/.test(key)) return () => rateByDigit(api, node, field, Number(key), event.timeStamp);
    if (key === "-" || key === "+") return () => stepRating(api, node, field, key === "+" ? 1 : -1);
  }
  if (kind !== "rating" && /^[1-9]$/.test(key)) {
    return () => {
      const place = Number(key) - 1;
      if (kind === "multilabel") {
        if (fields[place]) toggle(api, node, fields[place]);
      } else if (node.data && values[fields[0]][place]) node.setDataValue(fields[0], values[fields[0]][place]);
    };
  }
  if (key === "Backspace") return () => undo("undo");
  if (key === "Enter") {
    return () => {
      if (!isSeen(api, node)) return;
      submitRow(api, node);
      focusNextRow(api, node, column);
    };
  }
  return null;
}

/**
 * Return true if the reviewer can have read a row. A row that is out of sight is scrolled into view.
 *
 * @param {GridApi} api
 * @param {RowNode} node
 */
function isSeen(api, node) {
  reveal(api, node);
  return node.id !== revealed.id || performance.now() - revealed.at >= REACTION_MS;
}

/** @param {GridApi} api @param {RowNode} node */
function reveal(api, { id, rowIndex, rowTop, rowHeight }) {
  const { top, bottom } = api.getVerticalPixelRange();
  const middle = rowTop + rowHeight / 2;
  if (middle < top || middle > bottom) revealed = { id, at: performance.now() };
  api.ensureIndexVisible(rowIndex);
}

/** @param {GridApi} api */
function displayedNodes(api) {
  const nodes = Array.from({ length: api.getDisplayedRowCount() }, (_, index) => api.getDisplayedRowAtIndex(index));
  return nodes.filter((node) => node !== undefined);
}

/**
 * Submit a document. Its status changes at once, so that the next row is the first of the queue, unless the studio will
 * refuse it because a label has no value.
 *
 * @param {GridApi} api
 * @param {RowNode} node
 */
function submitRow(api, node) {
  const nodes = displayedNodes(api);
  const rows = nodes.map((row) => ({
    status: currentValue(row, row.data, "_status"),
    skipped: false, // such a row is at the end of the queue and has no record
    sampling: row.data._sampling ? JSON.parse(row.data._sampling) : null,
  }));
  const sampling = samplingOf(rows, rows[nodes.indexOf(node)]);
  const { data } = node;
  const isComplete = contextOf(api).fields.every(
    (field) => getValue({ node, data, column: api.getColumn(field) }) !== "?",
  );
  act(api, "submit", { document: node.id, sampling }, isComplete ? editCell(node, "_status", "Submitted") : undefined);
}

/** @param {GridApi} api @param {RowNode} node @param {Column} column */
function focusNextRow(api, node, column) {
  const row = node.rowIndex + 1;
  const next = api.getDisplayedRowAtIndex(row);
  if (!next) return;
  reveal(api, next);
  api.setFocusedCell(row, column);
  setFocusedRow(api, row); // the grid reports it a moment later, when the next key may have been pressed
}

// State that the page receives

/** @typedef {{ eventData: { api: GridApi } }} ReturnParams */

/** @param {ReturnParams} params */
export function collectState({ eventData: { api } }) {
  const selected = api.getSelectedNodes().map(({ id }) => id);
  return { revision, row: focusedRow, selected: selected.slice(0, MAX_SELECTED) };
}

/**
 * Note the document of the focused cell at once: new rows may arrive before the page asks for it.
 *
 * When new rows lack the focused row, the grid moves the focus itself, without scrolling. `keepFocus` corrects that.
 *
 * @param {{ api: GridApi, rowIndex: number | null, preventScrollOnBrowserFocus?: boolean, sourceEvent?: Event }} event
 */
export function noteFocus({ api, rowIndex, preventScrollOnBrowserFocus, sourceEvent }) {
  if (rowIndex === null || (preventScrollOnBrowserFocus && !sourceEvent)) return;
  if (!movedRow(api, rowIndex)) setFocusedRow(api, rowIndex); // else reported after new rows had arrived
}

/** @param {GridApi} api @param {number} rowIndex */
function setFocusedRow(api, rowIndex) {
  const id = api.getDisplayedRowAtIndex(rowIndex)?.id;
  if (id === undefined) return;
  focusedIndex = rowIndex;
  if (id === focusedRow) return;
  focusedRow = id;
  api.refreshCells({ columns: ["_id"], force: true });
}

/**
 * Return the focused document's row if new rows have moved it, and the grid still has the focus at its former place.
 *
 * @param {GridApi} api
 * @param {number} rowIndex The place of the grid's focus.
 */
function movedRow(api, rowIndex) {
  const node = focusedRow === null || rowIndex !== focusedIndex ? undefined : api.getRowNode(focusedRow);
  return node && node.rowIndex !== rowIndex ? node : undefined;
}

/**
 * Return true if the page receives the state now.
 *
 * The page runs once for a click that changes a label and the focus: when the label is stored.
 *
 * @param {ReturnParams} params
 */
export function shouldReturn({ eventData: { api } }) {
  if (client.pending.length && revision === sentRevision) return false;
  if (notifyTimer !== undefined) {
    clearTimeout(notifyTimer);
    notifyTimer = undefined;
    revision += 1;
  }
  const selected = api.getSelectedNodes().map(({ id }) => id);
  const state = JSON.stringify([revision, focusedRow, selected.toSorted()]);
  if (state === sentState) return false;
  if (isUrgent ? hasLeft() : isLeaving()) {
    notifyLater(api, RETRY_MS);
    return false;
  }
  isUrgent = false;
  sentState = state;
  sentRevision = revision;
  sentRow = focusedRow;
  return true;
}

// This frame shows "Saved" in the head of the page. The page itself shows it only when it reruns, and does not know of
// pending actions.

const headObserver = new MutationObserver(() => {
  if (client.pending.length) showSaveState("saving", "");
});
/** @type {Element | null} */
let observedHead = null;

/** @param {SaveState} state @param {string} text */
function showSaveState(state, text) {
  const place = window.parent.document.querySelector(".moot-saved");
  if (!place) return;
  setText(place, state === "saved" ? `✓ ${text}` : state === "saving" ? "Saving…" : text);
  place.setAttribute("title", place.textContent);
  const head = place.closest(".st-key-review-acts") ?? place.parentElement;
  if (!head || head === observedHead) return;
  headObserver.disconnect();
  headObserver.observe(head, { childList: true, subtree: true, characterData: true });
  observedHead = head;
}

// Cells

/** @param {HTMLElement} node @param {CellParams} params */
export function drawDecision(node, { api, value, colDef }) {
  const { label_names: names, boxes } = contextOf(api);
  if (boxes && (value === "1" || value === "0")) {
    const { headerName, headerComponentParams } = colDef;
    node.className = value === "1" ? "check-box checked" : "check-box";
    node.style.setProperty("--label", headerComponentParams.colour);
    Object.assign(node, { role: "checkbox", ariaChecked: String(value === "1"), ariaLabel: headerName });
    node.replaceChildren();
  } else if (value === "?" || value === null || value === undefined)
    drawMark(node, "no decision yet"); // unresolved, not debated, or hidden in a blind review
  else {
    node.className = "word";
    setText(node, names[value] ?? value);
  }
}

/** @param {HTMLElement} node @param {string} title */
function drawMark(node, title) {
  Object.assign(node, { className: "unresolved", title });
  setText(node, "?");
}

/**
 * Draw the assigned labels: squares ("0110"), a word ("=Positive"), or "?".
 *
 * @param {HTMLElement} node
 * @param {CellParams} params
 */
export function drawSquares(node, { api, value }) {
  const { names, colours, all } = contextOf(api);
  const text = String(value ?? "");
  node.className = "squares";
  node.replaceChildren();
  if (!text) return;
  if (text.startsWith("=")) {
    node.append(el("span", { className: "word", title: text.slice(1) }, text.slice(1)));
    return;
  }
  if (/^\?+$/.test(text)) {
    const mark = el("span");
    drawMark(mark, "unresolved");
    node.append(mark);
    return;
  }
  /** @type {Record<string, [string, string]>} */
  const states = { 1: ["present", "present"], 0: ["", "absent"], "?": ["unknown", "unresolved"] };
  node.classList.toggle("many", names.length > MANY_LABELS);
  [...text].forEach((state, index) => {
    if (!all && state === "0") return;
    const [tone, meaning] = states[state] ?? states["?"];
    const square = el("span", { className: `square ${tone}`, title: `${names[index]}: ${meaning}` });
    square.style.setProperty("--label", colours[index]);
    node.append(square);
  });
  const present = names.filter((_, index) => text[index] === "1").join(", ");
  Object.assign(node, { role: "img", ariaLabel: present || "none" });
}

/** @param {HTMLElement} node @param {CellParams} params */
export function drawBadge(node, { value, data }) {
  node.className = value ? `badge ${data._tone ?? ""}` : "";
  setText(node, value ?? "");
}

/**
 * Draw the head of a column. `ink` is the colour of a role, `colour` that of a label.
 *
 * @param {HTMLElement} node
 * @param {{ displayName: string, colour?: string, ink?: string }} params
 */
export function drawHeader(node, { displayName, colour, ink }) {
  Object.assign(node, { className: "head", title: displayName });
  const text = el("span", "name", displayName);
  if (ink) text.style.color = ink;
  const square = el("span", "square present");
  if (colour) square.style.setProperty("--label", colour);
  node.replaceChildren(...(colour ? [square] : []), text);
}

/**
 * Return true if a cell of a label is marked with a letter.
 *
 * @param {CellParams} params
 * @param {string} letter
 */
export function isMarked({ data, colDef }, letter) {
  return String(data?.[`m_${colDef.colId.slice(2)}`] ?? "").includes(letter);
}

/**
 * Return true if not all quotes were found: "2 of 3".
 *
 * @param {CellParams} params
 */
export function hasUnsupportedQuotes({ value }) {
  const [found, all] = String(value ?? "").split(" of ");
  return all !== undefined && found !== all;
}

/** @param {CellParams} params */
export function isPending({ value }) {
  return value === "Pending";
}

/** @param {CellParams} params */
export function isFocused({ node }) {
  return node.id === focusedRow;
}

/**
 * Shorten a long id in the middle, because ids usually differ at the start or end.
 *
 * @param {{ value: string }} params
 */
export function shortenId({ value }) {
  return value.length > MAX_ID_CHARACTERS ? `${value.slice(0, 4)}…${value.slice(-8)}` : value;
}

// The grid

/** @param {{ api: GridApi }} event */
export function start({ api }) {
  const { focus, head } = contextOf(api);
  client = new ReviewClient(head, showSaveState);
  focusedRow = sentRow = focus;
  window.addEventListener("blur", () => {
    noteFocus({ api, rowIndex: api.getFocusedCell()?.rowIndex ?? null }); // the grid reports a click a moment later
    isUrgent = focusedRow !== sentRow;
    if (isUrgent) notify(api);
  });
  api.refreshHeader();
  api.refreshCells({ force: true });
}

/**
 * Fit the column of ids to the ids. (The option autoSizeStrategy would warn about flexible columns.)
 *
 * @param {{ api: GridApi }} event
 */
export function fitIds({ api }) {
  api.autoSizeColumns(["_id"]);
  fitColumns({ api });
}

/**
 * Keep the focus on its document when new rows arrive: submitted documents leave the queue. If this document left, the
 * document that took its place is the focused one.
 *
 * @param {{ api: GridApi }} event
 */
export function keepFocus({ api }) {
  const focused = document.hasFocus() ? api.getFocusedCell() : null;
  const node = focusedRow === null ? undefined : api.getRowNode(focusedRow);
  if (node) focusedIndex = node.rowIndex;
  if (focused && node?.rowIndex !== focused.rowIndex) {
    api.setFocusedCell(node?.rowIndex ?? focused.rowIndex, focused.column);
  }
}

/**
 * Hide optional columns until rows are not wider than the grid. The focused cell keeps the focus.
 *
 * @param {{ api: GridApi }} event
 */
export function fitColumns({ api }) {
  const width = document.querySelector(".ag-root")?.clientWidth ?? 0;
  const widthOf = (/** @type {Column} */ one) => (one.getColDef().flex ? one.getMinWidth() : one.getActualWidth());
  const columns = api.getColumns().filter((column) => column.getColId() !== "_revision");
  let excess = columns.reduce((sum, column) => sum + widthOf(column), SCROLLBAR) - width;
  /** @type {string[]} */
  const shown = [];
  /** @type {string[]} */
  const hidden = [];
  for (const id of contextOf(api).optional) {
    const column = api.getColumn(id);
    const fits = excess <= 0;
    if (column.isVisible() !== fits) (fits ? shown : hidden).push(id);
    excess -= widthOf(column);
  }
  if (!shown.length && !hidden.length) return;
  const focused = document.hasFocus() ? api.getFocusedCell() : null;
  api.setColumnsVisible(hidden, false);
  api.setColumnsVisible(shown, true);
  if (focused) api.setFocusedCell(focused.rowIndex, focused.column);
}
