// Show the text of a reply with bold words, label names at the start of a line, and quotes of evidence.

import { el } from "./dom.js";
import { isSupported, splitAtSpans, toUtf16 } from "./evidence.js";
import { findLabel } from "./labels.js";

/** @import { Evidence, Span } from "./evidence.js" */
/** @import { Labels } from "./labels.js" */

/** @typedef {Span & { evidence?: Evidence, bold?: string }} Mark */

const BOLD = /\*\*([^*\n]{1,160})\*\*/g;
const MAX_MARKS = 500; // marks of one reply, because each is compared with the others

/**
 * Return true if a reply is data (JSON or a code block) and not prose.
 *
 * @param {string} text
 */
export function isData(text) {
  return /^\s*(?:[{[]|```)/.test(text);
}

/**
 * Create the nodes of a reply, or of one line of it while it is written.
 *
 * @param {string} text
 * @param {Labels} labels
 * @param {Evidence[]} [evidence] Evidence of this reply.
 * @param {Set<string>} [disputed] Items whose evidence is underlined with dashes.
 * @returns {Node[]}
 */
export function replyNodes(text, labels, evidence = [], disputed = new Set()) {
  return splitAtSpans(text, findMarks(text, labels, evidence)).map(({ text: part, covering: [span] }) => {
    if (!span) return document.createTextNode(part);
    if (!span.evidence) return el("b", "", span.bold);
    const { item } = span.evidence;
    const label = findLabel(labels, item);
    const found = isSupported(span.evidence);
    const tone = found ? `evidence l${label.colour}${disputed.has(item) ? " disputed" : ""}` : "unsupported";
    return el("span", { className: `${tone} quote`, title: found ? label.name : "not in the text" }, part);
  });
}

/**
 * Find the marked passages of a reply, at most `MAX_MARKS`. Passages do not overlap, and quotes have priority.
 *
 * @param {string} text
 * @param {Labels} labels
 * @param {Evidence[]} evidence
 */
function findMarks(text, labels, evidence) {
  const position = toUtf16(text);
  /** @type {Mark[]} */
  const marks = [];
  const add = (/** @type {Mark} */ mark) => {
    if (marks.length === MAX_MARKS) return;
    if (!marks.some(({ start, end }) => mark.start < end && mark.end > start)) marks.push(mark);
  };
  for (const one of evidence) {
    if (one.reply_start >= 0) add({ start: position(one.reply_start), end: position(one.reply_end), evidence: one });
  }
  for (const match of text.matchAll(BOLD)) {
    add({ start: match.index, end: match.index + match[0].length, bold: match[1] });
  }
  for (const match of text.matchAll(leadingNames(labels))) {
    const start = match.index + match[1].length;
    add({ start, end: match.index + match[0].length, bold: text.slice(start, match.index + match[0].length) });
  }
  return marks;
}

/** @type {WeakMap<Labels, RegExp>} */
const patterns = new WeakMap();

/**
 * Return the pattern of label names at the start of a line before a colon, a full stop or a dash.
 *
 * @param {Labels} labels
 */
function leadingNames(labels) {
  let pattern = patterns.get(labels);
  if (!pattern) {
    const names = [...labels.values()].map(({ name }) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    names.sort((a, b) => b.length - a.length);
    const any = names.join("|") || "(?!)"; // "(?!)" matches nothing
    pattern = new RegExp(`(^[-•\\s]{0,20})#?(?:${any})(?=[.:]|\\s*[-–—:])[.:]?`, "gim");
    patterns.set(labels, pattern);
  }
  return pattern;
}
