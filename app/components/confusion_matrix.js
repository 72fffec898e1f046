// A matrix for each label: rows are the truth, columns what the annotator said, shares are of the row.

import { el } from "./dom.js";
import { count, several } from "./format.js";

const WHAT = { tp: ["TP", "ok"], fn: ["FN", "bad"], fp: ["FP", "bad"], tn: ["TN", "ok"] };

export default function ({ data, parentElement, setTriggerValue }) {
  const truth = data.reference || "gold";
  const cell = (label, kind) => {
    const n = label[kind];
    const row = kind === "tp" || kind === "fn" ? label.tp + label.fn : label.fp + label.tn;
    const [name, tone] = WHAT[kind];
    const picked = data.picked && data.picked[0] === label.id && data.picked[1] === kind;
    const node = el("button", `cell ${tone}${n ? "" : " nil"}`, el("b", "", count(n)), el("span", "", row ? `${name} ${Math.round((100 * n) / row)}%` : name));
    node.style.setProperty("--p", row ? n / row : 0);
    node.type = "button";
    node.disabled = !n;
    node.setAttribute("aria-pressed", picked ? "true" : "false");
    const [gold, said] = { tp: ["present", "present"], fn: ["present", "absent"], fp: ["absent", "present"], tn: ["absent", "absent"] }[kind];
    node.setAttribute("aria-label", `${label.name}: ${truth} ${gold}, ${data.said || "verdict"} ${said}: ${several(n, "document")}`);
    node.onclick = () => setTriggerValue("cell", [label.id, kind]);
    return node;
  };
  parentElement.querySelector(".confusion").replaceChildren(...(data.labels || []).map((label) => {
    const grid = el("div", "cm",
      el("span"), el("span", "h", "present"), el("span", "h", "absent"),
      el("span", "r", `${truth} present`), cell(label, "tp"), cell(label, "fn"),
      el("span", "r", `${truth} absent`), cell(label, "fp"), cell(label, "tn"));
    const name = el("span", "ell", label.name);
    name.title = label.name;
    return el("section", `one l${label.colour}`, el("h3", "", el("span", "sq"), name, el("span", "f", label.note || "")), grid);
  }));
}
