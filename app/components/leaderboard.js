// The table of runs, which can be sorted, selected, pinned and renamed with the mouse or the keyboard.

import { button, el, focusedIn, icon, shortcutOf } from "./dom.js";
import { formatScore } from "./format.js";
import { intervalBar } from "./interval_bar.js";
import { isUnchanged, mountView } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/**
 * A cell: parts of its text, marked where runs differ, and a number to sort by.
 * @typedef {{ parts: [string, boolean][], value: number | null, tone?: string, title?: string }} Cell
 */
/**
 * @typedef {object} Run
 * @property {string} id
 * @property {string} name
 * @property {string[]} tags
 * @property {boolean} pinned
 * @property {boolean} archived
 * @property {Record<string, Cell>} cells By column.
 * @property {[number, number, number] | null} interval Its ends and the score.
 */
/**
 * A column. `interval` draws the intervals of the runs instead of their cells.
 * @typedef {{ key: string, title: string, numeric: boolean, help?: string, interval?: boolean }} Column
 */
/**
 * Selected are the runs that the page knows of. A new table starts with them; later, a selection by the user may be newer.
 * @typedef {{ runs: Run[], columns: Column[], selected: string[] }} LeaderboardData
 */
/** @typedef {{ key: string, descending: boolean } | null} Order */

const NAME = "name";
const DOUBLE_CLICK_MS = 300; // Time for the second click on a name, which renames the run instead of opening it.
const MAX_CHANGES = 50; // changes that are kept to be sent again

/**
 * Return the runs in an order; pinned ones stay first, and runs without a value come last.
 *
 * @param {Run[]} runs
 * @param {Order} order
 */
export function sortRuns(runs, order) {
  if (!order) return runs;
  const sign = order.descending ? -1 : 1;
  return runs.toSorted((a, b) => {
    if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
    if (order.key === NAME) return sign * a.name.localeCompare(b.name);
    const [one, two] = [a.cells[order.key], b.cells[order.key]];
    if (one?.value === null && two?.value === null) return sign * textOf(one).localeCompare(textOf(two));
    if (one?.value === null || two?.value === null) return one?.value === null ? 1 : -1;
    return sign * ((one?.value ?? 0) - (two?.value ?? 0));
  });
}

/** @param {Cell | undefined} cell */
function textOf(cell) {
  return cell ? cell.parts.map(([text]) => text).join(", ") : "";
}

class LeaderboardView {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {Order} */
    this.order = null;
    /** @type {Set<string>} Selected runs, also those that a filter hides. */
    this.selected = new Set();
    /** @type {{ number: number, id: string, name?: string, pinned?: boolean }[]} */
    this.changes = [];
    this.renaming = "";
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.opening = undefined;
    this.onKey = (/** @type {KeyboardEvent} */ event) => this.handleKey(event);
    root.addEventListener("keydown", this.onKey);
  }

  /** @param {Component<LeaderboardData>} component */
  update(component) {
    if (!this.data) this.selected = new Set(component.data.selected);
    this.component = component;
    this.data = component.data;
    const { selected: _, ...shown } = component.data;
    if (isUnchanged(this.root, shown)) return; // a row stays in place while the user presses it
    if (!this.renaming) this.draw(); // else after the user has typed the name
  }

  destroy() {
    clearTimeout(this.opening);
    this.root.removeEventListener("keydown", this.onKey);
  }

  draw() {
    const { runs = [], columns = [] } = this.data ?? {};
    const focused = this.focusedRow()?.dataset.id;
    const rows = sortRuns(runs, this.order);
    const ends = rows.flatMap(({ interval }) => interval ?? []);
    const range = /** @type {[number, number]} */ ([Math.min(...ends), Math.max(...ends)]);
    const head = el(
      "tr",
      "",
      el("th", { className: "check", ariaLabel: "Select" }),
      el("th", { className: "pin", ariaLabel: "Pin" }),
      this.heading({ key: NAME, title: "Name", numeric: false }),
      ...columns.map((column) => this.heading(column)),
    );
    const body = el("tbody", "", ...rows.map((run) => this.row(run, columns, range)));
    this.root.replaceChildren(el("table", "", el("thead", "", head), body));
    const again = this.rows().find(({ dataset }) => dataset.id === focused) ?? this.rows()[0];
    if (again) again.tabIndex = 0;
    const input = /** @type {HTMLInputElement | null} */ (this.root.querySelector("input.rename"));
    if (input) input.focus();
    else if (focused) again?.focus({ preventScroll: true });
  }

  /** @param {Column} column */
  heading({ key, title, numeric, help, interval }) {
    const cell = el("th", numeric ? "number" : interval ? "interval" : key === NAME ? "name" : "");
    if (help) cell.title = help;
    if (interval) {
      cell.append(title);
      return cell;
    }
    const sorted = this.order?.key === key;
    const arrow = sorted ? (this.order?.descending ? " ↓" : " ↑") : "";
    cell.append(button("sort", () => this.sortBy(key, numeric), `${title}${arrow}`));
    if (sorted) cell.ariaSort = this.order?.descending ? "descending" : "ascending";
    return cell;
  }

  /** @param {Run} run @param {Column[]} columns @param {[number, number]} range */
  row(run, columns, range) {
    const chosen = this.selected.has(run.id);
    const box = el("input", {
      type: "checkbox",
      checked: chosen,
      tabIndex: -1,
      ariaLabel: `Select ${run.name}`,
      onchange: () => this.toggle(run.id),
    });
    const title = run.pinned ? "Unpin" : "Pin to the top";
    const pin = button(
      { className: run.pinned ? "pin on" : "pin", tabIndex: -1, title, ariaLabel: `${title}: ${run.name}` },
      () => this.togglePin(run.id),
      icon("pin"),
    );
    const line = el(
      "tr",
      { tabIndex: -1, ariaSelected: String(chosen) },
      el("td", "check", box),
      el("td", "pin", pin),
      this.renaming === run.id ? this.nameInput(run) : this.nameCell(run),
      ...columns.map((column) =>
        column.interval ? intervalCell(run, range) : valueCell(run.cells[column.key], column),
      ),
    );
    line.dataset.id = run.id;
    line.classList.toggle("selected", chosen);
    line.classList.toggle("archived", run.archived);
    return line;
  }

  /** @param {Run} run */
  nameCell(run) {
    const title = `${run.name} (${run.id}). Double-click to rename.`;
    const name = el("button", { type: "button", className: "name ellipsis", tabIndex: -1, title }, run.name);
    name.onclick = ({ detail: clicks }) => {
      clearTimeout(this.opening);
      if (clicks === 0)
        this.open(run.id); // by a key
      else if (clicks === 1) this.opening = setTimeout(() => this.open(run.id), DOUBLE_CLICK_MS);
    };
    name.ondblclick = () => this.rename(run.id);
    return el("td", "name ellipsis", name, ...run.tags.map((tag) => el("span", "badge", tag)));
  }

  /** @param {Run} run */
  nameInput(run) {
    const { name: value } = run;
    const input = el("input", { className: "rename", value, maxLength: 120, ariaLabel: `New name of ${value}` });
    const end = (/** @type {boolean} */ keep) => {
      if (this.renaming !== run.id) return;
      this.renaming = "";
      const name = input.value.trim();
      if (keep && name && name !== run.name) this.change(run.id, { name });
      this.draw();
      this.focusRow(run.id);
    };
    input.onkeydown = (event) => {
      event.stopPropagation();
      if (event.isComposing) return;
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") end(false);
    };
    input.onblur = () => {
      if (input.isConnected) end(true);
    };
    return el("td", "name", input);
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = this.focusedRow();
    const id = row?.dataset.id;
    if (!row || !id) return;
    const actions = /** @type {Record<string, () => void>} */ ({
      j: () => this.move(row, 1),
      ArrowDown: () => this.move(row, 1),
      k: () => this.move(row, -1),
      ArrowUp: () => this.move(row, -1),
      x: () => this.toggle(id),
      " ": () => this.toggle(id),
      p: () => this.togglePin(id),
      r: () => this.rename(id),
      F2: () => this.rename(id),
      Enter: () => this.open(id),
    });
    const action = actions[shortcutOf(event)];
    if (!action || (event.target instanceof HTMLButtonElement && [" ", "Enter"].includes(event.key))) return;
    event.preventDefault();
    action();
  }

  /** @param {HTMLElement} row @param {number} step */
  move(row, step) {
    const rows = this.rows();
    const next = rows[rows.indexOf(row) + step];
    if (!next) return;
    row.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  /** @param {string} id */
  toggle(id) {
    if (!this.selected.delete(id)) this.selected.add(id);
    this.draw();
    this.focusRow(id);
    this.component?.setStateValue("selected", [...this.selected]);
  }

  /** @param {string} id */
  rename(id) {
    this.renaming = id;
    this.draw();
    /** @type {HTMLInputElement | null} */ (this.root.querySelector("input.rename"))?.select();
  }

  /**
   * @param {string} key
   * @param {boolean} numeric Numbers begin with the largest.
   */
  sortBy(key, numeric) {
    const same = this.order?.key === key;
    this.order = { key, descending: same ? !this.order?.descending : numeric };
    this.draw();
  }

  /** @param {string} id */
  togglePin(id) {
    this.change(id, { pinned: !this.findRun(id)?.pinned });
  }

  /** @param {string} id */
  findRun(id) {
    return this.data?.runs.find((run) => run.id === id);
  }

  /** @param {string} id */
  open(id) {
    this.component?.setTriggerValue("open", id);
  }

  /**
   * Change the details of a run. Streamlit may drop all but the latest of several messages, so each message also
   * contains the earlier changes. The page applies each number once. The next change may come before its answer.
   *
   * @param {string} id
   * @param {{ name?: string, pinned?: boolean }} change
   */
  change(id, change) {
    const number = Math.max(Date.now(), (this.changes.at(-1)?.number ?? 0) + 1);
    this.changes = [...this.changes, { number, id, ...change }].slice(-MAX_CHANGES);
    Object.assign(this.findRun(id) ?? {}, change);
    this.component?.setStateValue("changes", this.changes);
  }

  /** @returns {HTMLElement[]} */
  rows() {
    return [...this.root.querySelectorAll("tbody tr")].filter((row) => row instanceof HTMLElement);
  }

  /** @returns {HTMLElement | undefined} */
  focusedRow() {
    const focused = focusedIn(this.root);
    return this.rows().find((row) => row.contains(focused));
  }

  /** @param {string} id */
  focusRow(id) {
    this.rows()
      .find(({ dataset }) => dataset.id === id)
      ?.focus({ preventScroll: true });
  }
}

/** @param {Cell | undefined} cell @param {Column} column */
function valueCell(cell, { numeric }) {
  const node = el("td", numeric ? `number ${cell?.tone ?? ""}` : "wide ellipsis");
  const parts = cell?.parts ?? [];
  for (const [place, [text, differs]] of parts.entries()) {
    const comma = place + 1 < parts.length ? "," : "";
    node.append(place ? " " : "", el("span", differs ? "part differs" : "part", text + comma));
  }
  if (cell?.title) node.title = cell.title;
  return node;
}

/** @param {Run} run @param {[number, number]} range */
function intervalCell({ interval }, range) {
  const cell = el("td", "interval");
  if (!interval) return cell;
  const [low, high, value] = interval;
  const bar = intervalBar(value, low, high, range);
  bar.role = "img";
  bar.ariaLabel = bar.title = `${formatScore(low)} to ${formatScore(high)}`;
  cell.append(bar);
  return cell;
}

/** @param {Component<LeaderboardData>} component */
export default function (component) {
  return mountView(component, "leaderboard", (root) => new LeaderboardView(root));
}
