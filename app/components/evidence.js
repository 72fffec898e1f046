// Show quotes in the texts that they come from. The studio located the quotes (core/debate/quote_location.py).

import { el } from "./dom.js";
import { findLabel, labelName } from "./labels.js";

/** @import { Labels } from "./labels.js" */

/**
 * A quote that an agent offers for an item. `start` and `end` are its place in a field of the document, `reply_start`
 * and `reply_end` its place in the reply. All four count code points, and are -1 without a place.
 *
 * @typedef {object} Evidence
 * @property {string} item
 * @property {string} quote
 * @property {string} field
 * @property {number} start
 * @property {number} end
 * @property {"exact" | "fuzzy" | "missing"} match
 * @property {number} reply_start
 * @property {number} reply_end
 */
/**
 * A passage of a text, in UTF-16 units.
 * @typedef {{ start: number, end: number }} Span
 */

const BLOCK = 8_000; // characters of a block of a long text
const CHARACTER_REST = /^[\udc00-\udfff\p{M}]*/u; // what belongs to the character before
const LONG_WORD = /\S{40}/; // kerning makes the layout of such words quadratic in Chromium

/**
 * Return a function that converts code points, which Python counts, to UTF-16 units, which JavaScript counts.
 *
 * @param {string} text
 * @returns {(codePoints: number) => number}
 */
export function toUtf16(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (codePoints) => codePoints;
  /** @type {number[]} */
  const positions = [];
  let position = 0;
  for (const character of text) {
    positions.push(position);
    position += character.length;
  }
  positions.push(position);
  return (codePoints) => positions[Math.max(0, Math.min(codePoints, positions.length - 1))];
}

/**
 * Split a text at its spans. `covering` are the spans of a part, the shortest one first; `ending` are those that end
 * with it.
 *
 * @template {Span} S
 * @param {string} text
 * @param {S[]} spans
 * @param {number[]} more Further positions to split at.
 * @returns {{ text: string, end: number, covering: S[], ending: S[] }[]}
 */
export function splitAtSpans(text, spans, more = []) {
  const valid = spans.filter(({ start, end }) => start >= 0 && start < end && end <= text.length);
  const cuts = new Set([0, text.length, ...more, ...valid.flatMap(({ start, end }) => [start, end])]);
  const points = [...cuts].sort((a, b) => a - b);
  return points.slice(1).map((end, index) => {
    const start = points[index];
    const covering = valid.filter((span) => span.start <= start && span.end >= end);
    covering.sort((a, b) => a.end - a.start - (b.end - b.start));
    return { text: text.slice(start, end), end, covering, ending: valid.filter((span) => span.end === end) };
  });
}

/**
 * Create the nodes of a document, field by field. Evidence is tinted, underlined and numbered in the colours of its
 * labels. A passage of several labels has the tint of the `argued` one, else of the shortest quote, and the line of
 * another one. A document without fields was deleted or replaced.
 *
 * @param {Record<string, string>} fields
 * @param {Iterable<Evidence>} evidence
 * @param {Labels} labels
 * @param {Set<string>} disputed Items whose evidence is underlined with dashes.
 * @param {string} [argued] The item that is being argued or decided.
 * @returns {Node[]}
 */
export function documentNodes(fields, evidence, labels, disputed, argued = "") {
  const names = Object.keys(fields);
  if (!names.length) return [el("p", "muted small", "The project no longer has this document.")];
  const found = [...evidence].filter(isSupported);
  return names.flatMap((name) => {
    const own = names.length > 1 ? found.filter(({ field }) => field === name) : found;
    const unkerned = LONG_WORD.test(fields[name]) ? " unkerned" : "";
    const body = el("div", `document${unkerned}`, ...fieldNodes(fields[name], own, labels, disputed, argued));
    return names.length > 1 ? [el("h3", "field-name", name), body] : [body];
  });
}

/**
 * @param {string} text
 * @param {Evidence[]} evidence
 * @param {Labels} labels
 * @param {Set<string>} disputed
 * @param {string} argued
 * @returns {Node[]}
 */
function fieldNodes(text, evidence, labels, disputed, argued) {
  const position = toUtf16(text);
  const unique = new Map(evidence.map(({ item, start, end }) => [`${item}:${start}:${end}`, { item, start, end }]));
  const spans = [...unique.values()].map(({ item, start, end }) => ({
    start: position(start),
    end: position(end),
    label: findLabel(labels, item),
    disputed: disputed.has(item),
  }));
  const ends = blockEnds(text);
  const parts = splitAtSpans(text, spans, ends);
  const nodes = parts.map((part) => {
    const main = part.covering.find(({ label }) => label.id === argued) ?? part.covering[0];
    if (!main) return document.createTextNode(part.text);
    const { label } = main;
    const names = part.covering.map((span) => span.label.name + (span.disputed ? " (disputed)" : ""));
    const title = [...new Set(names)].join(", ");
    const className = `evidence l${label.colour}${main.disputed ? " disputed" : ""}`;
    const node = el("span", { className, title }, part.text);
    const other = part.covering.find((span) => span.label.id !== label.id);
    if (other) {
      node.classList.add("shared");
      node.style.setProperty("--other", `var(--l${other.label.colour})`);
    }
    const digits = new Set(part.ending.map((span) => span.label.digit).filter(Boolean));
    if (digits.size) node.append(el("sup", "", [...digits].join(",")));
    return node;
  });
  if (!ends.length) return nodes;
  const blocks = [...ends, text.length].map(() => el("div", "block"));
  parts.forEach(({ end }, index) => {
    const block = ends.findIndex((limit) => end <= limit);
    blocks.at(block)?.append(nodes[index]); // -1 is the last block
  });
  return blocks;
}

/**
 * Return the ends of the blocks of a long text, preferably at line ends, else at spaces, else within words. The browser
 * lays out only blocks in view. No character is cut in two.
 *
 * @param {string} text
 */
export function blockEnds(text) {
  const ends = [];
  for (let start = 0; text.length - start > 2 * BLOCK; ) {
    const near = text.slice(start + BLOCK, start + 2 * BLOCK);
    const line = near.indexOf("\n");
    const found = line >= 0 ? line : near.indexOf(" ");
    start += BLOCK + found + 1;
    start += text.slice(start, start + BLOCK).match(CHARACTER_REST)?.[0].length ?? 0;
    ends.push(start);
  }
  return ends;
}

/**
 * Return true if the quoted words are in the document.
 *
 * @param {Evidence} evidence
 */
export function isSupported({ start, match }) {
  return start >= 0 && match !== "missing";
}

/**
 * Create the list of quotes that are not in the document, or null if all are.
 *
 * @param {Evidence[]} evidence
 * @param {Labels} labels
 */
export function unsupportedQuotes(evidence, labels) {
  const missing = new Map(evidence.filter((one) => !isSupported(one)).map((one) => [`${one.item}:${one.quote}`, one]));
  if (!missing.size) return null;
  const quotes = [...missing.values()].flatMap(({ item, quote }) => [
    labelName(findLabel(labels, item)),
    el("span", "unsupported quote", quote),
  ]);
  return el("div", "unsupported-quotes", "Not in the text:", ...quotes);
}
