// The finished debates of a run, a page at a time, with a search.

import { button, el, focusedIn, icon, setText } from "./dom.js";
import { formatCount } from "./format.js";
import { compactValues, presentLabels } from "./labels.js";
import { statusIcon } from "./debate_tiles.js";

/** @import { RunInfo } from "./debate_state.js" */
/** @import { FinishedPage, FinishedQuery, FinishedRow } from "./live_client.js" */

const PAGE_SIZE = 50;
const TYPING_MS = 180;
const STATUSES = [
  ["", "All"],
  ["verdict", "Decided"],
  ["unresolved", "Unresolved"],
  ["failed", "Failed"],
];

export class FinishedList {
  /**
   * @param {RunInfo} run
   * @param {object} callbacks
   * @param {(query: FinishedQuery) => void} callbacks.onQuery
   * @param {(id: string) => void} callbacks.onPick
   */
  constructor(run, { onQuery, onPick }) {
    this.run = run;
    this.onQuery = onQuery;
    this.onPick = onPick;
    /** The last request. A page may answer an earlier one. @type {FinishedQuery} */
    this.query = { query: "", status: "", offset: 0 };
    /** @type {FinishedRow[]} */
    this.page = [];
    /** @type {string | null} */
    this.selected = null;
    this.rows = el("div", "rows scroll");
    this.range = el("span");
    const { rows, range } = this;
    this.newer = button("button", () => this.request({ offset: Math.max(0, this.query.offset - PAGE_SIZE) }), "Newer");
    this.older = button("button", () => this.request({ offset: this.query.offset + this.page.length }), "Older");
    const search = el("div", "search row muted", icon("search"), this.createInput(), this.createFilter());
    const pagination = el("div", "pagination row tiny muted", range, el("span", "row push", this.newer, this.older));
    this.node = el("div", "finished hidden", search, rows, pagination);
  }

  createInput() {
    const name = "Find a finished debate";
    const input = el("input", { type: "search", placeholder: "Find a document", ariaLabel: name });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    input.oninput = () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.request({ query: input.value, offset: 0 }), TYPING_MS);
    };
    return input;
  }

  createFilter() {
    const options = STATUSES.map(([value, name]) => el("option", { value }, name));
    const select = el("select", { ariaLabel: "Status" }, ...options);
    select.onchange = () => this.request({ status: select.value, offset: 0 });
    return select;
  }

  /** Debates on this page. */
  get ids() {
    return this.page.map((row) => row.document_id);
  }

  /** @param {Partial<FinishedQuery>} [change] */
  request(change = {}) {
    this.query = { ...this.query, ...change };
    this.onQuery(this.query);
  }

  /**
   * Show a page. While the user presses a row, the rows stay until the click.
   *
   * @param {FinishedPage} page
   */
  show(page) {
    if (this.rows.matches(":active")) {
      window.addEventListener("pointerup", () => setTimeout(() => this.show(page)), { once: true });
      return;
    }
    const { query, status, offset, total, rows } = page;
    this.page = rows;
    const focused = focusedIn(this.rows)?.dataset.id;
    const nodes = rows.map((row) => this.createRow(row));
    this.rows.replaceChildren(...nodes);
    nodes.find(({ dataset }) => dataset.id === focused)?.focus({ preventScroll: true });
    if (!rows.length) {
      this.rows.append(
        el("div", "empty", query || status ? "No finished debate matches." : "No debate has finished yet."),
      );
    }
    const last = offset + rows.length;
    setText(this.range, total ? `${formatCount(offset + 1)} to ${formatCount(last)} of ${formatCount(total)}` : "");
    this.newer.disabled = offset === 0;
    this.older.disabled = last >= total;
    this.select(this.selected);
  }

  /** @param {string | null} id */
  select(id) {
    this.selected = id;
    this.page.forEach((row, index) => {
      this.rows.children[index]?.classList.toggle("selected", row.document_id === id);
    });
  }

  /** @param {FinishedRow} row */
  createRow({ document_id: id, status, values, text_start: text }) {
    const { labels, kind } = this.run;
    const compact = compactValues(presentLabels(values, kind, labels), values, labels, kind);
    const head = el("div", "finished-head", el("span", "id ellipsis", id), ...compact, statusIcon(status));
    const node = button("finished-row choice", () => this.onPick(id), head, el("div", "finished-text ellipsis", text));
    node.dataset.id = id;
    return node;
  }
}
