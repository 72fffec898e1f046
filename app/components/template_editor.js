// The editor of a template: a text area with its colours painted behind it. What is typed is told when typing rests; the
// text that the page sends is taken only when it begins another life (another slot, a reset), never while one types.

import { el } from "./dom.js";

const REST = 450;
const TOKEN = /(\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}|\{#[\s\S]*?#\})/g;
const KIND = { "{{": "v", "{%": "t", "{#": "c" };

export default function (component) {
  const { data, parentElement, setStateValue, setTriggerValue } = component;
  const root = parentElement.querySelector(".template");
  const box = root.box || build();
  root.style.setProperty("--room", `${data.room || 460}px`);
  root.style.setProperty("--least", `${data.least || 320}px`);
  box.tell = (now) => {
    clearTimeout(box.resting);
    if (box.area.value !== box.told) {
      box.told = box.area.value;
      setStateValue("text", { life: box.life, text: box.told });
    }
    if (now) setTriggerValue("go", `${Date.now()}`);
  };
  if (box.life !== data.life) {
    box.life = data.life;
    box.area.value = data.text || "";
    box.told = box.area.value;
  }
  box.area.setAttribute("aria-label", data.name || "Template");
  box.problems = data.problems || [];
  paint();

  function build() {
    const area = el("textarea");
    area.spellcheck = false;
    area.autocapitalize = "off";
    const made = (root.box = { area, paint: el("div", "paint"), life: null, told: "", resting: 0, problems: [], tell: () => {} });
    made.paint.setAttribute("aria-hidden", "true");
    area.addEventListener("input", () => {
      made.problems = [];
      root.repaint();
      clearTimeout(made.resting);
      made.resting = setTimeout(() => made.tell(false), REST);
    });
    area.addEventListener("blur", () => made.tell(false));
    area.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); made.tell(true); }
      if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey && area.selectionStart !== area.selectionEnd) event.preventDefault();
    });
    root.replaceChildren(el("div", "tpl", made.paint, area));
    root.repaint = () => paint();
    return made;
  }

  function paint() {
    const { area, problems } = root.box;
    const rows = area.value.split("\n").map((line, index) => {
      const own = problems.filter((problem) => problem.line === index + 1);
      const row = el("div", own.length ? (own.some((one) => one.severity === "error") ? "bad" : "warn") : "");
      if (/^## (system|user)\s*$/.test(line)) row.append(el("span", "h", line));
      else for (const part of line.split(TOKEN)) if (part) row.append(KIND[part.slice(0, 2)] && part.length > 3 ? el("span", KIND[part.slice(0, 2)], part) : part);
      if (!line) row.append("\u200b");
      return row;
    });
    root.box.paint.replaceChildren(...rows);
  }
}
