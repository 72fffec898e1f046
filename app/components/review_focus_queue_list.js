// The list of the review queue: its rows are loaded as the user scrolls or comes near the end.

import { el, setText } from "./dom.js";
import { formatCount } from "./format.js";
import { queueRow } from "./review_panels.js";
import { isSettled, isWaiting } from "./review_queue.js";

/** @import { ReviewClient } from "./review_client.js" */
/** @import { QueueRow, ReviewDocument } from "./review_panels.js" */
/** @import { ReviewStatus } from "./review_queue.js" */

const PAGE_SIZE = 50;
const MAX_QUEUE_ROWS = 10_000;

/**
 * Return the number of settled rows that the studio does not list as waiting. It still lists those whose decisions were
 * on their way when it answered.
 *
 * @param {QueueRow[]} rows
 * @param {QueueRow[]} listed
 */
export function countSettled(rows, listed) {
  const waiting = new Set(listed.map(({ id }) => id));
  return rows.filter(({ id, status }) => isSettled(status) && !waiting.has(id)).length;
}

export class ReviewQueueList {
  /**
   * @param {ReviewClient} client
   * @param {object} options
   * @param {() => Record<string, unknown>} options.filters Return the filters of the queue.
   * @param {(row: QueueRow) => () => void} options.opener Return the listener of a row.
   * @param {() => HTMLElement | null} options.emptyNode Return what the list shows without rows, if anything.
   */
  constructor(client, { filters, opener, emptyNode }) {
    this.client = client;
    this.filters = filters;
    this.opener = opener;
    this.emptyNode = emptyNode;
    /** @type {QueueRow[]} */
    this.rows = [];
    this.total = 0;
    this.isOrdered = false; // The rows are in the order of the queue.
    /** The id of the selected row. @type {string | null} */
    this.selected = null;
    this.loading = false;
    /** @type {WeakMap<QueueRow, { state: string, node: HTMLElement }>} */
    this.drawn = new WeakMap();
    this.count = el("span", "badge");
    this.list = el("div", "queue-rows scroll");
    this.list.onscroll = () => this.loadOnScroll();
  }

  /** Load more rows. Returns the number of new rows. */
  load() {
    return this.request(this.isOrdered ? PAGE_SIZE : Math.max(PAGE_SIZE, this.rows.length));
  }

  /** Load the rows again, because their order and reasons change. */
  refresh() {
    return this.request(0);
  }

  /** @param {number} more Rows that are not loaded yet. */
  async request(more) {
    const listedAgain = this.isOrdered ? this.rows.filter(isWaiting).length : this.rows.length;
    const size = Math.min(Math.max(listedAgain + more, PAGE_SIZE), MAX_QUEUE_ROWS);
    const answer = await this.client.query("queue", {
      filters: { ...this.filters(), sort: "queue", number: 1, size },
    });
    this.isOrdered = answer.queue_order;
    /** @type {QueueRow[]} */
    const listed = answer.rows;
    const before = new Set(this.rows.map(({ id }) => id));
    // In queue order the studio lists what waits now; its order and reasons change with the classifier.
    const kept = this.isOrdered ? this.rows.filter((row) => !isWaiting(row) || row.id === this.selected) : this.rows;
    const keptIds = new Set(kept.map(({ id }) => id));
    this.rows = [...kept, ...listed.filter(({ id }) => !keptIds.has(id))];
    this.total = answer.total + (this.isOrdered ? countSettled(kept, listed) : 0);
    this.draw();
    return this.rows.filter(({ id }) => !before.has(id)).length;
  }

  get hasMore() {
    return this.rows.length < Math.min(this.total, MAX_QUEUE_ROWS);
  }

  loadOnScroll() {
    const { scrollTop, clientHeight, scrollHeight } = this.list;
    if (this.loading || !this.hasMore || scrollTop + clientHeight <= scrollHeight - 200) return;
    this.loading = true;
    this.load().finally(() => {
      this.loading = false;
    });
  }

  /** @param {string | null} id */
  find(id) {
    return this.rows.find((row) => row.id === id);
  }

  /** @param {number} place */
  nextWaiting(place) {
    return this.rows.slice(place + 1).find(isWaiting);
  }

  /** The place of the selected row, -1 without one. */
  get place() {
    return this.rows.findIndex(({ id }) => id === this.selected);
  }

  /** @param {string | null} id */
  select(id) {
    this.selected = id;
    this.draw();
  }

  /** @param {string} id @param {ReviewStatus} status */
  setStatus(id, status) {
    const row = this.find(id);
    if (row) Object.assign(row, { status, changed_at: Date.now() / 1000 });
    this.draw();
  }

  /**
   * Add a document without a row as the first row.
   *
   * @param {ReviewDocument} document
   */
  add({ id, status, skipped, reasons, fields }) {
    const text_start = Object.values(fields)[0] ?? "";
    this.rows.unshift({ id, status, skipped, reasons, text_start, sampling: null });
    if (isSettled(status)) this.total += 1; // it is in the list, but the studio counts only what waits
    this.total = Math.max(this.total, this.rows.length);
  }

  /** @param {ReviewDocument} document */
  update(document) {
    const { id, status, skipped } = document;
    const row = this.find(id);
    if (row) Object.assign(row, { status, skipped });
    else this.add(document);
  }

  /**
   * Remove rows whose documents have changed. The studio lists them again if they wait.
   *
   * @param {string[]} ids
   */
  remove(ids) {
    this.rows = this.rows.filter(({ id }) => !ids.includes(id));
  }

  draw() {
    const { list } = this;
    const decided = this.isOrdered ? this.rows.filter(({ status }) => isSettled(status)).length : 0;
    setText(this.count, `${formatCount(this.total - decided)} ${this.isOrdered ? "waiting" : "found"}`);
    const { scrollTop } = list;
    const rows = this.rows.map((row) => this.rowNode(row));
    const empty = rows.length ? null : this.emptyNode();
    const nodes = empty ? [empty] : rows;
    // The browser lays out all rows again if they are replaced.
    if (nodes.length !== list.children.length || nodes.some((node, index) => node !== list.children[index])) {
      list.replaceChildren(...nodes);
      list.scrollTop = scrollTop;
    }
    const selected = rows[this.place];
    if (!selected) return;
    const top = selected.offsetTop - list.offsetTop;
    const visible = top >= scrollTop && top + selected.offsetHeight <= scrollTop + list.clientHeight;
    if (!visible) list.scrollTop = top - list.clientHeight / 3;
  }

  /**
   * Return the node of a row; create a new one in its place only if the row has changed.
   *
   * @param {QueueRow} row
   */
  rowNode(row) {
    const isSelected = row.id === this.selected;
    const state = `${row.status} ${row.changed_at} ${row.skipped} ${isSelected}`;
    const drawn = this.drawn.get(row);
    if (drawn?.state === state) return drawn.node;
    const node = queueRow(row, isSelected, this.opener(row));
    drawn?.node.replaceWith(node);
    this.drawn.set(row, { state, node });
    return node;
  }
}
