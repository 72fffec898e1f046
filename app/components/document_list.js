// The documents behind a number. A click tells the page which one to show.

import { el } from "./dom.js";
import { avatar, roleBook, roleOf } from "./roles.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const place = parentElement.querySelector(".cases");
  const held = place.contains(place.getRootNode().activeElement) ? place.getRootNode().activeElement.dataset.id : null;
  const roles = roleBook(data.roles);
  const columns = el("colgroup", "", el("col", "id"), el("col"));
  const third = data.by ? el("th", "", data.by) : null;
  if (third) columns.append(el("col", "by"));
  const table = el("table", "", columns, el("tr", "", el("th", "", el("b", "", data.head || "")), el("th", "", data.told || ""), third));
  for (const row of data.rows || []) {
    const did = [["right", "+", row.mended], ["wrong", "−", row.broken]].flatMap(([tone, sign, names]) => (names || []).map((name) => el("span", `badge ${tone}`, sign + name)));
    const open = el("button", "text", ...did, row.words);
    open.type = "button";
    open.title = row.words;
    open.dataset.id = row.id;
    const name = el("td", "mono", row.id);
    name.title = row.id;
    const line = el("tr", `pick${row.id === data.picked ? " sel" : ""}`, name, el("td", "", open));
    if (third) {
      const cell = el("td");
      if (row.by) { const r = roleOf(roles, row.by); cell.append(el("span", "who", avatar(r, "s"), r.name)); }
      line.append(cell);
    }
    line.style.cursor = "pointer";
    line.onclick = () => setTriggerValue("document", row.id);
    table.append(line);
  }
  const scrolled = place.scrollTop;
  place.replaceChildren(table);
  place.scrollTop = scrolled;
  const again = held !== null && [...place.querySelectorAll("button")].find((open) => open.dataset.id === held);
  if (again) again.focus({ preventScroll: true });
}
