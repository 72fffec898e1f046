// Documents and replies with highlighted passages.

import { el } from "./dom.js";
import { labelOf } from "./labels.js";

// Python counts code points, JavaScript counts UTF-16 units.
function units(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (n) => n;
  const at = [];
  let i = 0;
  for (const c of text) { at.push(i); i += c.length; }
  at.push(i);
  return (n) => at[Math.max(0, Math.min(n, at.length - 1))];
}

const FOLD = { "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " ", "\n": " ", "\t": " " };
export function fold(text) {
  const same = text.replace(/[“”„«»‘’–—\u00a0\n\t]/g, (c) => FOLD[c]);
  const low = same.toLowerCase();
  return low.length === same.length ? low : same; // positions must stay what they are
}

// Split text at its marks: [{text, mark|null}], marks = [{start, end, ...}] in UTF-16, shortest wins where they overlap.
function split(text, marks) {
  const cuts = new Set([0, text.length]);
  const used = marks.filter((m) => m.end > m.start && m.start >= 0 && m.end <= text.length);
  for (const m of used) { cuts.add(m.start); cuts.add(m.end); }
  const points = [...cuts].sort((a, b) => a - b);
  const parts = [];
  for (let i = 0; i + 1 < points.length; i++) {
    const over = used.filter((m) => m.start <= points[i] && m.end >= points[i + 1]).sort((a, b) => a.end - a.start - (b.end - b.start));
    parts.push({ text: text.slice(points[i], points[i + 1]), mark: over[0] || null, ends: used.filter((m) => m.end === points[i + 1]) });
  }
  return parts;
}

// A document field with its evidence. spans = [{item, start, end, disputed}] in code points.
export function drawDocument(node, text, spans, labels) {
  const at = units(text);
  const marks = spans.map((s) => ({ ...s, start: at(s.start), end: at(s.end) }));
  const nodes = [];
  for (const part of split(text, marks)) {
    if (!part.mark) { nodes.push(document.createTextNode(part.text)); continue; }
    const label = labelOf(labels, part.mark.item);
    const mark = el("span", `ev l${label.colour}${part.mark.disputed ? " dis" : ""}`, part.text);
    mark.title = label.name + (part.mark.disputed ? " (disputed)" : "");
    const digits = [...new Set(part.ends.map((m) => labelOf(labels, m.item).digit).filter(Boolean))].join(",");
    if (digits) mark.append(el("sup", "", digits));
    nodes.push(mark);
  }
  node.replaceChildren(...nodes);
}

// Where the words of a reply want marking: bold, label names at a line's start, quotes that are evidence.
export function marksIn(text, context) {
  const found = [];
  const folded = fold(text);
  const add = (start, end, mark) => {
    if (!found.some((m) => start < m.end && end > m.start)) found.push({ start, end, ...mark });
  };
  for (const row of context.evidence || []) {
    const quote = fold(row.quote || "");
    if (quote.length < 3) continue;
    for (let i = folded.indexOf(quote), n = 0; i >= 0 && n < 4; i = folded.indexOf(quote, i + quote.length), n++)
      add(i, i + quote.length, { kind: row.match === "missing" ? "gone" : "quote", item: row.item, disputed: context.disputed && context.disputed.has(row.item) });
  }
  const quoted = /["“„«]([^"“”„«»\n]{6,400})["”“»]/g;
  for (let hit; (hit = quoted.exec(text)); ) {
    const place = context.locate ? context.locate(hit[1]) : null;
    if (!place) continue;
    const start = hit.index + 1;
    const item = nameBefore(text, start, context.names);
    if (item || hit[1].includes(" ")) add(start, start + hit[1].length, { kind: "quote", item, place });
  }
  for (const pattern of [/\*\*([^*\n]{1,160})\*\*/g, context.heads]) {
    if (!pattern) continue;
    pattern.lastIndex = 0;
    for (let hit; (hit = pattern.exec(text)); ) {
      if (!hit[0].length) { pattern.lastIndex++; continue; }
      if (pattern === context.heads) add(hit.index + hit[1].length, hit.index + hit[0].length, { kind: "bold" });
      else add(hit.index, hit.index + hit[0].length, { kind: "bold", inner: hit[1] });
    }
  }
  return found;
}

// The label whose name stands nearest before this place.
function nameBefore(text, place, names) {
  const before = text.slice(Math.max(0, place - 600), place).toLowerCase();
  let best = null, at = -1;
  for (const [name, id] of names || []) {
    const i = before.lastIndexOf(name);
    if (i > at) { at = i; best = id; }
  }
  return best;
}

export function said(text, context, labels) {
  return split(text, marksIn(text, context)).map(({ text: words, mark }) => {
    if (!mark) return document.createTextNode(words);
    if (mark.kind === "bold") return el("b", "", mark.inner || words);
    if (mark.kind === "gone") { const node = el("span", "gone qt", words); node.title = "not in the text"; return node; }
    const label = labelOf(labels, mark.item);
    const node = el("span", `ev qt l${label.colour}${mark.disputed ? " dis" : ""}`, words);
    if (label.colour) node.title = label.name;
    return node;
  });
}

function escapeRegExp(text) { return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }

// What marksIn needs to know of a debate.
export function textContext(labels, fields) {
  const names = [...labels.values()].map((l) => [l.name.toLowerCase(), l.id]).sort((a, b) => b[0].length - a[0].length);
  const any = names.map(([name]) => escapeRegExp(name)).join("|");
  const folded = Object.entries(fields || {}).map(([name, text]) => [name, fold(text)]);
  return {
    names,
    heads: any ? new RegExp(`(^[-•\\s]*)#?(?:${any})(?=[.:]|\\s*[-–—:])[.:]?`, "gim") : null,
    locate(quote) {
      const wanted = fold(quote).replace(/^[\s.…,]+|[\s.…,]+$/g, "");
      if (wanted.length < 6) return null;
      for (const [field, text] of folded) {
        const start = text.indexOf(wanted);
        if (start >= 0) return { field, start, end: start + wanted.length };
      }
      return null;
    },
  };
}
