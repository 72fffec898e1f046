// Who changed what: for each label, what each role after the first mended and broke.

import { el } from "./dom.js";
import { count } from "./format.js";

export default function ({ data, parentElement }) {
  const roles = data.roles || [];
  const head = el("tr", "", el("th", "", "Who changed what"));
  for (const role of roles) head.append(el("th", "", `${role.toLowerCase()} mended`), el("th", "", "broke"));
  head.append(el("th", "", "net"));
  const table = el("table", "", head);
  const number = (n, tone) => el("td", n ? tone : "zero", count(n));
  for (const row of data.rows || []) {
    const first = row.colour ? el("span", `lab l${row.colour}`, el("span", "sq"), el("span", "ell", row.name)) : el("span", "", row.name);
    const line = el("tr", row.colour ? "" : "sum", el("td", "", first));
    for (const step of row.steps) line.append(number(step[0], "right"), number(step[1], "wrong"));
    line.append(el("td", row.net ? "b" : "zero", `${row.net > 0 ? "+" : row.net < 0 ? "−" : ""}${count(Math.abs(row.net))}`));
    table.append(line);
  }
  parentElement.querySelector(".changes").replaceChildren(table);
}
