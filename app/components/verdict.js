// The verdict of a debate.

import { el, icon } from "./dom.js";
import { findLabel, labelTag, presentLabels } from "./labels.js";

/** @import { RunInfo, VerdictEvent } from "./debate_state.js" */

const MAX_REASONS = 12;

/** @param {VerdictEvent} verdict @param {RunInfo} run @returns {Node[]} */
export function verdictNodes(verdict, { labels, kind }) {
  if (verdict.status === "failed") {
    const badge = el("span", "badge wrong", icon("fail"), "failed");
    return [el("div", "decision", badge, el("span", "wrong", verdict.error))];
  }
  const decided = verdict.status === "verdict";
  const badge = decided
    ? el("span", "badge right", icon("done"), "verdict")
    : el("span", "badge unres", icon("help"), "unresolved");
  const ids = presentLabels(verdict.values, kind, labels);
  const tags = ids.map((id) =>
    labelTag(findLabel(labels, id), { rating: kind === "rating" ? verdict.values[id] : null }),
  );
  const none = !ids.length && decided ? el("span", "secondary", "no label") : null;
  return [
    el("div", "decision", badge, ...tags, none),
    ...reasonTexts(verdict, labels).map((text) => el("div", "tiny unres", text)),
    ...verdict.notes.map((note) => el("div", "tiny secondary", note)),
  ];
}

/** @param {VerdictEvent} verdict @param {RunInfo["labels"]} labels */
function reasonTexts({ reasons }, labels) {
  const texts = Object.values(reasons);
  if (texts.length > 1 && new Set(texts).size === 1) return texts.slice(0, 1);
  const rows = Object.entries(reasons).slice(0, MAX_REASONS);
  const named = rows.map(([id, reason]) => (labels.has(id) ? `${findLabel(labels, id).name}: ${reason}` : reason));
  const more = texts.length - rows.length;
  return more ? [...named, `and ${more} more`] : named;
}
