// The state of one debate.

import { el } from "./dom.js";
import { marksIn, textContext } from "./highlighting.js";
import { labelOf, tag } from "./labels.js";
import { heardOf, pretty, roleColour } from "./roles.js";

// A turn with what it says in one form: labels = ids that it names (null: it gave no list), values = ratings by id.
export function normal(turn, kind) {
  const values = turn.values || null;
  if (kind === "rating") return { ...turn, labels: null, values };
  if (kind !== "choice") return turn;
  if (values && values.label) return { ...turn, labels: [values.label] };
  return { ...turn, labels: turn.labels && turn.labels.length ? turn.labels : null };
}

// ---- one debate: what was said, and what follows from it

export class Debate {
  constructor(board, id) {
    this.board = board;
    this.id = id;
    this.document = null;
    this.context = textContext(board.labels, {});
    this.turns = new Map();
    this.views = new Map();
    this.cursors = new Map();
    this.verdict = null;
    this.disputed = new Set();
    this.glimpses = new Map();
  }

  setDocument(document) {
    this.document = document;
    this.context = textContext(this.board.labels, document.fields);
  }

  get ordered() { return [...this.turns.values()].sort((a, b) => a.turn - b.turn); }

  get evidence() { return this.ordered.flatMap((t) => (t.done ? this.evidenceOf(t) : [])); }

  // What is quoted in a choice speaks for the label that is chosen with it.
  evidenceOf(turn) {
    const chosen = this.board.kind === "choice" && (turn.labels || [])[0];
    return (turn.evidence || []).map((row) => ({ ...row, role: turn.role, item: chosen && row.item === "label" ? chosen : row.item }));
  }

  evidenceBefore(turn) { return this.ordered.filter((t) => t.turn < turn && t.done).flatMap((t) => this.evidenceOf(t)); }

  answers(turn) {
    const own = this.turns.get(turn);
    if (own && Array.isArray(own.replies_to)) return heardOf(own, this.board.roles);
    const before = [...new Set(this.ordered.filter((t) => t.turn < turn).map((t) => t.role))];
    const others = before.filter((role) => own && role !== own.role);
    if (!others.length) return "";
    if (own && roleColour(own.role) === "judge") return others.length === 1 ? `weighs the ${pretty(others[0]).toLowerCase()}` : others.length === 2 ? "weighs both" : "weighs all";
    if (own && roleColour(own.role) === "panelist") return "";
    return `answers the ${pretty(others[others.length - 1]).toLowerCase()}`;
  }

  lists() { return this.ordered.filter((t) => t.done && Array.isArray(t.labels)); }

  settleDisputes() {
    const stands = new Map();
    if (this.board.kind === "rating") for (const t of this.ordered) for (const [id, value] of Object.entries((t.done && t.values) || {})) {
      if (value === null) continue;
      if (!stands.has(id)) stands.set(id, new Set());
      stands.get(id).add(value);
    }
    for (const t of this.lists()) for (const id of this.board.labels.keys()) {
      if (!stands.has(id)) stands.set(id, new Set());
      stands.get(id).add(t.labels.includes(id));
    }
    this.disputed = new Set([...stands].filter(([, said]) => said.size > 1).map(([id]) => id));
  }

  decision(head) {
    const { labels, kind } = this.board;
    const row = el("div", "dec");
    const word = (text) => row.append(el("span", "t3 xs", text));
    const before = this.lists().filter((t) => t.turn < head.turn);
    const colour = roleColour(head.role);
    // Panelists and advocates answer for themselves, a judge answers everybody, others the one before.
    const alone = colour === "panelist" || colour === "advocate";
    const earlier = colour === "judge" && before.length ? { labels: [...new Set(before.flatMap((t) => t.labels))] } : before.filter((t) => !alone || t.role === head.role).pop();
    const order = [...labels.keys()];
    const by = (ids) => [...ids].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    if (kind === "rating") {
      if (!head.values) return null;
      word("rates");
      for (const id of order) if (head.values[id] !== undefined && head.values[id] !== null) row.append(tag(labelOf(labels, id), false, head.values[id]));
      return row;
    }
    if (!Array.isArray(head.labels)) return null;
    if (kind === "choice" && earlier && head.labels.length && (colour === "judge" || head.labels.join() !== earlier.labels.join())) {
      word(colour === "judge" ? "decides" : "changes to");
      row.append(tag(labelOf(labels, head.labels[0])));
      return row;
    }
    if (!earlier) {
      word(!head.labels.length ? "names no label" : kind === "choice" ? "chooses" : "names");
      for (const id of by(head.labels)) row.append(tag(labelOf(labels, id)));
      return row;
    }
    const kept = head.labels.filter((id) => earlier.labels.includes(id));
    const added = head.labels.filter((id) => !earlier.labels.includes(id));
    const dropped = earlier.labels.filter((id) => !head.labels.includes(id));
    for (const [name, ids, absent] of [[colour === "judge" ? "decides" : "keeps", kept], ["adds", added], ["drops", dropped, true]]) {
      if (!ids.length) continue;
      word(name);
      for (const id of by(ids)) row.append(tag(labelOf(labels, id), absent));
    }
    if (!row.childNodes.length) word("names no label");
    return row;
  }

  // quotes seen in a turn that is still running, located in the document
  glimpse(turn, line, context) {
    for (const mark of marksIn(line, { ...context, evidence: [] })) {
      if (mark.kind !== "quote" || !mark.place || !mark.item) continue;
      const key = `${turn}:${mark.place.field}:${mark.place.start}:${mark.item}`;
      if (!this.glimpses.has(key)) {
        this.glimpses.set(key, { turn, item: mark.item, field: mark.place.field, start: mark.place.start, end: mark.place.end });
        this.board.documentStale = true;
      }
    }
  }

  spans(field) {
    const rows = this.evidence.filter((e) => e.field === field && e.match !== "missing" && e.start >= 0);
    const text = this.document ? this.document.fields[field] : "";
    const at = /[\ud800-\udbff]/.test(text) ? (n) => [...text.slice(0, n)].length : (n) => n;
    for (const g of this.glimpses.values()) {
      const turn = this.turns.get(g.turn);
      if (g.field === field && !(turn && turn.done)) rows.push({ ...g, start: at(g.start), end: at(g.end) });
    }
    const unique = new Map(rows.map((e) => [`${e.item}:${e.start}:${e.end}`, { item: e.item, start: e.start, end: e.end, disputed: this.disputed.has(e.item) }]));
    return [...unique.values()];
  }
}
