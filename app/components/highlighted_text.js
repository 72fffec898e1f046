// A document with its evidence, drawn at once. Evidence that is not in the text is listed below it.

import { el } from "./dom.js";
import { drawDocument } from "./highlighting.js";
import { labelBook, labelOf } from "./labels.js";

export default function (component) {
  const root = component.parentElement.querySelector(".marked-root");
  const data = component.data || {};
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn) return;
  root.drawn = drawn;
  root.classList.toggle("small", Boolean(data.small));
  root.style.setProperty("--room", data.height ? `${data.height}px` : "none");
  const labels = labelBook(data.labels);
  const disputed = new Set(data.disputed || []);
  const nodes = [];
  const fields = Object.entries(data.fields || {});
  const evidence = data.evidence || [];
  for (const [name, text] of fields) {
    if (fields.length > 1) nodes.push(el("h3", "", name));
    const body = el("div", "doc");
    const spans = evidence.filter((e) => e.start >= 0 && e.match !== "missing" && (e.field === name || fields.length === 1));
    drawDocument(body, text, spans.map((e) => ({ ...e, disputed: disputed.has(e.item) })), labels);
    nodes.push(body);
  }
  const lost = new Map(evidence.filter((e) => e.start < 0 || e.match === "missing").map((e) => [`${e.item}:${e.quote}`, e]));
  if (lost.size && data.missing) {
    const row = el("div", "lost", "Not in the text:");
    for (const e of lost.values()) row.append(el("span", "lab", el("span", `sq l${labelOf(labels, e.item).colour}`), labelOf(labels, e.item).name), el("span", "gone qt", e.quote));
    nodes.push(row);
  }
  root.replaceChildren(...nodes);
}
