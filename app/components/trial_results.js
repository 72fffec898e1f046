// What a change did: counts, a cell for each document, the documents to read with the broken ones first, and intervals.

import { el, icon } from "./dom.js";
import { count } from "./format.js";
import { labelBook, labelOf } from "./labels.js";

const HEADS = { broken: "Broken", fixed: "Fixed", changed: "Changed, no truth to compare with", wrong: "Still wrong", same: "Unchanged" };

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".outcome");
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn) return;
  root.drawn = drawn;
  const labels = labelBook(data.labels);
  const kept = root.querySelector(".rowsbox") ? root.querySelector(".rowsbox").scrollTop : 0;
  const pick = (id) => setTriggerValue("document", id);
  const number = (kind, words, more) => el("div", "", el("div", `v ${kind}`, count(data.counts[words])), el("div", "k1", more));
  const unchanged = data.counts.same + data.counts.wrong;
  const still = data.counts.wrong ? `, ${count(data.counts.wrong)} still wrong` : "";
  const sum = el("div", "sum",
    number("wrong", "broken", "broken"), number("right", "fixed", "fixed"),
    el("div", "", el("div", "v", count(unchanged + data.counts.changed)), el("div", "k1", data.counts.changed ? `others, ${count(data.counts.changed)} changed` : `unchanged${still}`)),
    el("div", "told", el("b", "", data.sentence || ""), data.told || ""));
  const cells = el("div", "cells");
  for (const row of data.rows) {
    const cell = el("button", `${row.what}${row.id === data.picked ? " on" : ""}`);
    cell.type = "button";
    cell.title = `${row.id}: ${HEADS[row.what].toLowerCase()}`;
    cell.setAttribute("aria-label", cell.title);
    cell.onclick = () => pick(row.id);
    cells.append(cell);
  }
  const few = data.few ? el("div", "few", icon("help"), el("span", "", data.few)) : null;
  const box = el("div", "rowsbox");
  const longest = Math.max(0, ...data.rows.map((row) => row.id.length));
  box.style.setProperty("--ids", `${Math.min(140, Math.max(44, Math.ceil(7.25 * longest)))}px`); // texts begin in one line
  box.tabIndex = 0;
  box.style.setProperty("--room", `${data.room || 340}px`);
  for (const what of ["broken", "fixed", "changed", "wrong"]) {
    const rows = data.rows.filter((row) => row.what === what);
    if (!rows.length) continue;
    box.append(el("h3", what, `${HEADS[what]}, ${count(rows.length)}`));
    for (const row of rows) box.append(line(row));
  }
  if (!box.children.length) box.append(el("h3", "", "No document changed."));
  root.replaceChildren(...[sum, few, cells, box, forest()].filter(Boolean));
  box.scrollTop = kept;

  function line(row) {
    const moves = el("span", "moves");
    for (const cell of row.cells.slice(0, 4)) moves.append(move(cell));
    if (row.cells.length > 4) moves.append(el("span", "t3 xs", `and ${row.cells.length - 4} more`));
    const words = el("span", "words", row.words);
    words.title = row.words;
    const node = el("button", `line${row.id === data.picked ? " on" : ""}`, el("span", "mono", row.id), words, moves);
    node.type = "button";
    node.onclick = () => pick(row.id);
    return node;
  }

  function move(cell) {
    const label = data.kind === "choice" ? null : labelOf(labels, cell.item);
    const sign = cell.what === "broken" ? "fail" : cell.what === "fixed" ? "check" : null;
    const node = el("span", "move");
    if (sign) { const drawnSign = icon(sign, cell.what === "broken" ? "wrong" : "right"); node.append(drawnSign); }
    if (label) node.append(el("span", `lab l${label.colour}`, el("span", `sq${cell.after === true ? "" : " o"}`), label.name));
    node.append(el("span", "was", value(cell.before)), el("span", "arrow", "→"), el("span", "is", value(cell.after)));
    return node;
  }

  function value(x) {
    if (x === null || x === undefined) return "unresolved";
    if (data.kind === "choice") return labelOf(labels, x).name;
    return x === true ? "present" : x === false ? "absent" : String(x);
  }

  function forest() {
    const known = data.forest.filter((row) => row.value !== null);
    if (!known.length) return null;
    const far = Math.max(0.05, ...known.flatMap((row) => [row.low, row.high, row.value].filter((x) => x !== null).map(Math.abs)));
    const at = (x) => 50 + (x / far) * 48;
    const box = el("div", "forest", el("h3", "", data.measure, el("small", "", "paired bootstrap, 95% intervals")));
    box.style.setProperty("--zero", "50%");
    for (const row of known) {
      const clear = row.low !== null && (row.low > 0 || row.high < 0);
      const bar = el("span", "bar");
      if (row.low !== null) {
        const range = el("i");
        range.style.left = `${at(row.low)}%`;
        range.style.width = `${at(row.high) - at(row.low)}%`;
        bar.append(range);
      }
      const mark = el("u");
      mark.style.left = `${at(row.value)}%`;
      bar.append(mark);
      const name = row.colour ? el("span", `lab l${row.colour}`, el("span", "sq"), el("span", "ell", row.name)) : el("span", "b", row.name);
      const still = row.low === row.high && row.value === 0;
      const span = row.low === null || still ? "" : `${points(row.low)} to ${points(row.high)}`;
      box.append(el("div", `frow${clear ? (row.value > 0 ? " better" : " worse") : ""}`, name, bar, el("span", "num", el("b", "", points(row.value, true)), span)));
    }
    box.append(el("div", "axis", el("i"), el("div", "", el("span", "", "no change"))));
    return box;
  }

  function points(x, sign) {
    const text = Math.abs(100 * x).toFixed(1);
    return (x < 0 ? "−" : sign ? "+" : "") + text;
  }
}
