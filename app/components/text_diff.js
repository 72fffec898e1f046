// Two versions of a text as one, with the line numbers of both.

import { el } from "./dom.js";

const SIGN = { same: "", added: "+", removed: "−" };
const WRAP = { same: "span", added: "ins", removed: "del" };

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".textdiff");
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn) return;
  root.drawn = drawn;
  root.style.setProperty("--room", `${data.room || 460}px`);
  const rows = (data.lines || []).map((line) => {
    const words = el("span");
    for (const [op, text] of line.pieces) words.append(el(WRAP[op], "", text));
    return el("div", line.op === "same" ? "" : line.op, el("span", "", line.before ? String(line.before) : ""), el("span", "", line.after ? String(line.after) : ""), el("span", "", SIGN[line.op]), words);
  });
  if (!(data.lines || []).some((line) => line.op !== "same")) rows.unshift(el("div", "none", "No difference."));
  root.replaceChildren(...rows);
  const first = root.querySelector(".added, .removed");
  if (first) root.scrollTop = Math.max(0, first.offsetTop - root.offsetTop - 60);
}
