// A tile for each of the latest debates. A finished debate keeps its tile until another debate needs the place.

import { button, el, icon, setText } from "./dom.js";
import { formatPlural, formatRating } from "./format.js";
import { compactValues, findLabel, presentLabels } from "./labels.js";
import { avatar, findRole } from "./roles.js";

/** @import { RunInfo } from "./debate_state.js" */
/** @import { TileEvent } from "./live_client.js" */

/**
 * A tile with the browser times at which its debate ended and until which it waits; 0 if it did not end or wait.
 * @typedef {TileEvent & { ended: number, until: number }} Tile
 */
/**
 * @typedef {object} TileView
 * @property {HTMLButtonElement} node
 * @property {HTMLElement} name
 * @property {HTMLElement} id
 * @property {HTMLElement} head
 * @property {HTMLElement} progress
 * @property {HTMLElement} text
 * @property {string | null} shown The debate in the tile.
 * @property {string} shownHead
 */

const ROWS_TO_STRETCH = 7;
const TAIL_LENGTH = 42;

export class DebateTiles {
  /** @param {RunInfo} run @param {(id: string) => void} onPick */
  constructor(run, onPick) {
    this.run = run;
    this.onPick = onPick;
    /** @type {Map<string, Tile>} */
    this.tiles = new Map();
    /** The debate in each place, null where a debate has been removed. @type {(string | null)[]} */
    this.places = [];
    /** @type {TileView[]} */
    this.views = [];
    /** Debates whose tiles will be redrawn. @type {Set<string>} */
    this.changed = new Set();
    this.columns = 0;
    this.node = el("div", { className: "tiles scroll", ariaLabel: "Latest debates" });
    this.empty = el("div", "empty hidden", "No debate is in progress.");
  }

  /** Debates in the order of their places. */
  get ids() {
    return this.places.filter((id) => id !== null);
  }

  /**
   * Return the heading of the tiles with its number: the debates in progress, or else the finished ones shown.
   *
   * @param {number} running
   */
  heading(running) {
    const finished = running ? 0 : this.ids.length;
    return finished ? { title: "Latest debates", count: finished } : { title: "In progress", count: running };
  }

  /** @param {string} id */
  isRunning(id) {
    const tile = this.tiles.get(id);
    return tile !== undefined && !tile.status;
  }

  /**
   * Add a debate, or a later state of it. If all places are taken, the debate that ended first is removed.
   *
   * @param {TileEvent} event
   * @param {number} capacity
   * @param {string | null} kept A debate that is not removed.
   */
  set(event, capacity, kept) {
    const id = event.document_id;
    const known = this.tiles.get(id);
    const now = performance.now();
    this.tiles.set(id, {
      ...event,
      ended: event.status ? known?.ended || now : 0,
      until: event.waiting ? now + 1000 * event.wait : 0,
    });
    this.changed.add(id);
    if (this.places.includes(id)) return;
    const free = this.places.indexOf(null);
    if (free >= 0) this.places[free] = id;
    else if (this.places.length < capacity) this.places.push(id);
    else this.replaceEnded(id, kept);
  }

  /** @param {string} id @param {string | null} kept */
  replaceEnded(id, kept) {
    const endedAt = (/** @type {string} */ other) => (other === kept ? Infinity : (this.tiles.get(other)?.ended ?? 0));
    const ended = this.ids.filter((other) => this.tiles.get(other)?.status);
    const oldest = ended.toSorted((a, b) => endedAt(a) - endedAt(b))[0];
    if (oldest) {
      this.places[this.places.indexOf(oldest)] = id;
      this.tiles.delete(oldest);
    } else if (this.tiles.get(id)?.status) this.tiles.delete(id);
    else this.places.push(id);
  }

  /** @param {Set<string>} running */
  removeUnfinished(running) {
    for (const id of this.tiles.keys()) {
      if (running.has(id) || !this.isRunning(id)) continue;
      this.tiles.delete(id);
      this.places = this.places.map((other) => (other === id ? null : other));
    }
    if (!this.ids.length) this.places = [];
  }

  /** Return the debate to show first: a running one, else the last. */
  first() {
    return this.ids.find((id) => this.isRunning(id)) ?? this.ids.at(-1) ?? null;
  }

  /**
   * Return a running debate to show after another one, preferably one that has just started.
   *
   * @param {string} current
   */
  next(current) {
    const turns = (/** @type {Tile} */ { progress }) => Object.values(progress).reduce((sum, share) => sum + share, 0);
    const running = [...this.tiles.values()].filter(
      (tile) => !tile.status && !tile.waiting && tile.document_id !== current,
    );
    running.sort((a, b) => Number(turns(a) === 0) - Number(turns(b) === 0) || turns(a) - turns(b));
    return running[0]?.document_id ?? null;
  }

  /** Mark the tiles with a countdown for redrawing. Returns true if any tile has one. */
  markWaiting() {
    const waiting = [...this.tiles.values()].filter(({ until }) => until > 0);
    for (const { document_id: id } of waiting) this.changed.add(id);
    return waiting.length > 0;
  }

  /** Return the number of columns of tiles. Call it only when needed, because it triggers a layout. */
  countColumns() {
    this.columns ||= getComputedStyle(this.node).gridTemplateColumns.split(" ").length;
    return this.columns;
  }

  /** @param {string | null} selected @param {boolean} visible */
  draw(selected, visible) {
    while (this.views.length < this.places.length) this.addView();
    for (const view of this.views.splice(this.places.length)) view.node.remove();
    this.places.forEach((id, place) => {
      const view = this.views[place];
      const tile = id === null ? undefined : this.tiles.get(id);
      view.node.classList.toggle("selected", tile !== undefined && id === selected);
      if (view.shown !== id || (id !== null && this.changed.has(id))) this.drawTile(view, id, tile);
    });
    this.changed.clear();
    this.node.classList.toggle("hidden", !visible || !this.places.length);
    this.empty.classList.toggle("hidden", !visible || this.places.length > 0);
    this.node.classList.toggle("full", this.places.length >= ROWS_TO_STRETCH * this.countColumns());
  }

  addView() {
    const id = el("span", "id ellipsis");
    const name = el("span", "visually-hidden"); // instead of the parts, whose text changes with each word
    const head = el("div", { className: "tile-head", ariaHidden: "true" });
    const progress = el("div", "tile-progress", ...[...this.run.roles.values()].map(({ colour }) => el("i", colour)));
    const text = el("div", { className: "tile-text ellipsis", ariaHidden: "true" });
    const pick = () => {
      if (view.shown !== null) this.onPick(view.shown);
    };
    const node = button("tile choice", pick, name, head, progress, text);
    /** @type {TileView} */
    const view = { node, name, id, head, progress, text, shown: null, shownHead: "" };
    this.views.push(view);
    this.node.append(node);
  }

  /** @param {TileView} view @param {string | null} id @param {Tile | undefined} tile */
  drawTile(view, id, tile) {
    view.shown = id;
    view.progress.classList.toggle("hidden", !tile);
    if (!tile || id === null) {
      view.shownHead = "";
      view.head.replaceChildren();
      setText(view.name, "");
      setText(view.text, "");
      return;
    }
    const { roles, labels, kind } = this.run;
    const present = tile.status === "verdict" ? presentLabels(tile.values, kind, labels) : tile.labels;
    const role = tile.role ? findRole(roles, tile.role) : null;
    const head = JSON.stringify([id, present, tile.status, tile.role, Boolean(tile.waiting)]);
    if (view.shownHead !== head) {
      view.shownHead = head;
      setText(view.id, id);
      view.id.title = id;
      view.head.replaceChildren(view.id, ...compactValues(present, tile.values, labels, kind), symbolOf(tile, role));
    }
    [...roles.values()].forEach(({ role: name }, index) => {
      const bar = /** @type {HTMLElement | undefined} */ (view.progress.children[index]);
      bar?.style.setProperty("--share", String(tile.status ? 1 : (tile.progress[name] ?? 0)));
    });
    const { text, tone } = this.describe(tile, present);
    setText(view.text, text.replace(/\*\*|```/g, ""));
    view.text.className = `tile-text ellipsis ${tone}`;
    const state = tile.status ?? (tile.waiting || (role ? `${role.name} speaking` : "waiting"));
    setText(view.name, `Debate ${id}, ${state}`);
  }

  /** @param {Tile} tile @param {string[]} present @returns {{ text: string, tone: string }} */
  describe(tile, present) {
    if (tile.status === "verdict") return { text: this.describeVerdict(tile, present), tone: "right" };
    if (tile.status) {
      const text = tile.reason ? `${tile.status}: ${tile.reason}` : tile.status;
      return { text, tone: tile.status === "failed" ? "wrong" : "unres" };
    }
    if (tile.waiting) {
      const seconds = Math.ceil((tile.until - performance.now()) / 1000);
      if (seconds <= 0) tile.until = 0;
      return { text: seconds > 0 ? `${tile.waiting} in ${seconds} s` : tile.waiting, tone: "muted" };
    }
    const { tail } = tile;
    if (!tail) return { text: tile.role ? "reading" : "", tone: "muted" };
    const characters = [...tail]; // an emoji has two UTF-16 units
    const end = characters.slice(-TAIL_LENGTH).join("");
    return { text: characters.length > TAIL_LENGTH ? `…${end.replace(/^\S*\s/, "")}` : tail, tone: "" };
  }

  /** @param {Tile} tile @param {string[]} present */
  describeVerdict({ values }, present) {
    const { labels, kind } = this.run;
    if (kind === "multilabel") return `decided, ${formatPlural(present.length, "label")}`;
    const names = present.map((id) => findLabel(labels, id).name);
    const rated = present.map((id, index) => `${names[index]} ${formatRating(values?.[id])}`);
    return `decided: ${(kind === "choice" ? names : rated).join(", ")}`;
  }
}

/** @param {"verdict" | "unresolved" | "failed"} status */
export function statusIcon(status) {
  if (status === "verdict") return icon("done", "right");
  return status === "unresolved" ? icon("help", "unres") : icon("fail", "wrong");
}

/** @param {Tile} tile @param {import("./roles.js").Role | null} role */
function symbolOf({ status, waiting }, role) {
  if (status) return statusIcon(status);
  return waiting || !role ? icon("clock", "muted") : avatar(role, { small: true });
}
