// Versions as a tree: where each was made from, how it did on the development side and where nobody may look twice.

import { el } from "./dom.js";
import { count, money } from "./format.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".history");
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn) return;
  root.drawn = drawn;
  const looked = data.rows.some((row) => row.held !== null);
  const cited = data.rows.some((row) => row.runs);
  const head = ["Version", data.measure, looked ? "held out" : null, "n", "cost", "note", cited ? "used by" : null, ""];
  const table = el("table");
  table.append(el("tr", "", ...head.filter((name) => name !== null).map((name, place) => el("th", place && name !== "note" && name !== "used by" ? "num" : "", name))));
  const share = (x) => (x === null ? "–" : x.toFixed(3));
  for (const row of [...data.rows].reverse()) {
    const name = el("td", "", el("span", `node${row.draft ? " on" : ""}`), row.draft ? el("b", "", row.label) : row.label);
    name.firstChild.style.marginLeft = `${14 * row.depth}px`;
    name.title = row.parent ? `made from ${row.parent}` : "";
    const actions = el("td", "num");
    if (row.isDefault) {
      const badge = el("span", "badge", "default");
      badge.title = "What the project's runs use";
      actions.append(badge);
    }
    else if (row.draft) actions.append(el("span", "badge run", "now"));
    else if (data.promotable) actions.append(button("Promote", "promote", row));
    if (!row.draft && !row.open) actions.append(" ", button("Edit", "open", row));
    const cells = [name, el("td", "num b", share(row.score))];
    if (looked) cells.push(gap(row));
    cells.push(el("td", "num", row.n ? count(row.n) : ""), el("td", "num", row.cost === undefined || row.cost === null ? (row.n ? "not priced" : "") : money(row.cost)));
    const note = el("td", "note", row.note);
    note.title = row.note;
    const used = el("td", "t3 used", row.runs);
    used.title = row.runs || "";
    table.append(el("tr", row.open ? "open" : "", ...cells, note, ...(cited ? [used] : []), actions));
  }
  root.replaceChildren(table);

  function button(words, act, row) {
    const node = el("button", "btn q", words);
    node.type = "button";
    node.setAttribute("aria-label", `${words}: ${row.label}`);
    node.onclick = () => setTriggerValue(act, row.name);
    return node;
  }

  function gap(row) {
    const cell = el("td", "gap");
    if (row.held === null) return cell;
    const bar = el("span", "gapbar");
    bar.style.display = "inline-block";
    const at = (x) => `${Math.max(0, Math.min(100, 100 * x))}%`;
    if (row.score !== null) {
      const range = el("i");
      range.style.left = at(Math.min(row.score, row.held));
      range.style.width = `${100 * Math.abs(row.score - row.held)}%`;
      const seen = el("u");
      seen.style.left = at(row.score);
      bar.append(range, seen);
    }
    const out = el("u", "out");
    out.style.left = at(row.held);
    bar.append(out);
    cell.append(bar, " ", share(row.held));
    cell.title = row.score === null ? `held out ${share(row.held)}` : `development ${share(row.score)}, held out ${share(row.held)}: a gap of ${((row.score - row.held) * 100).toFixed(1)} points`;
    return cell;
  }
}
