// The verdict of a debate.

import { el, icon } from "./dom.js";
import { labelOf, present, tag } from "./labels.js";

// What a debate ended in.
export function ruling(verdict, labels, kind) {
  const row = el("div", "dec");
  row.style.marginTop = "0";
  if (verdict.status === "failed") row.append(el("span", "badge wrong", icon("fail"), "failed"), el("span", "wrong", verdict.error || ""));
  else {
    const decided = verdict.status === "verdict";
    row.append(el("span", `badge ${decided ? "right" : "unres"}`, icon(decided ? "done" : "help"), decided ? "verdict" : "unresolved"));
    const ids = present(verdict.values, labels, kind);
    for (const id of ids) row.append(tag(labelOf(labels, id), false, kind === "rating" ? verdict.values[id] : undefined));
    if (!ids.length && decided) row.append(el("span", "t2", "no label"));
  }
  const nodes = [row];
  const reasons = Object.entries(verdict.reasons || {});
  if (reasons.length > 1 && reasons.every(([, why]) => why === reasons[0][1])) nodes.push(el("div", "xs unres", reasons[0][1]));
  else for (const [id, why] of reasons.slice(0, 12)) nodes.push(el("div", "xs unres", `${labels.has(id) ? labels.get(id).name + ": " : ""}${why}`));
  for (const note of verdict.notes || []) nodes.push(el("div", "xs t2", note));
  return nodes;
}
