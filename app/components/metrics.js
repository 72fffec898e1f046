// Key numbers, each a share from 0 to 1 with its interval drawn on that scale.

import { el } from "./dom.js";

function share(x) { return x === null || x === undefined ? "–" : x.toFixed(3); }

function figure(row) {
  const value = el("div", `v${row.text === undefined && row.value === null ? " none" : ""}`, row.text === undefined ? share(row.value) : row.text);
  const node = el("div", "", el("div", "k1", row.name), value);
  node.setAttribute("role", "listitem");
  if (row.text === undefined) {
    const bar = el("div", "iv");
    if (row.low !== null && row.low !== undefined) {
      const range = el("b");
      range.style.left = `${100 * row.low}%`;
      range.style.width = `${100 * (row.high - row.low)}%`;
      bar.append(range);
    }
    if (row.value !== null) { const mark = el("u"); mark.style.left = `${100 * row.value}%`; bar.append(mark); }
    bar.setAttribute("aria-hidden", "true");
    node.append(bar);
  }
  for (const line of row.lines || []) {
    const words = el("div", "d");
    if (line.strong) words.append(el("b", line.tone || "", line.strong), " ");
    words.append(line.text || "");
    node.append(words);
  }
  return node;
}

export default function ({ data, parentElement }) {
  parentElement.querySelector(".numbers").replaceChildren(...(data.figures || []).map(figure));
}
