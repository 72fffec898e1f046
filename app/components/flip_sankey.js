// What each role changed: one post a role, its upper part right, its lower part wrong, and ribbons between them.

import { SVG, el, icon } from "./dom.js";
import { count } from "./format.js";
import { roleColour } from "./roles.js";

const TOP = 42, GAP = 14, POST = 13;

function shape(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function ribbon(x0, y0, x1, y1, thick, fill, opacity) {
  const mid = (x0 + x1) / 2;
  const path = `M${x0} ${y0}C${mid} ${y0} ${mid} ${y1} ${x1} ${y1}v${thick}C${mid} ${y1 + thick} ${mid} ${y0 + thick} ${x0} ${y0 + thick}z`;
  return shape("path", { d: path, fill, "fill-opacity": opacity });
}

function drawFlow(data, W, H) {
  const svg = shape("svg", { width: W, height: H, viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": data.told });
  const { posts, steps, cells } = data;
  const scale = (H - TOP - GAP - 6) / Math.max(1, cells);
  const at = (i) => 14 + ((W - 28 - POST) * i) / Math.max(1, posts.length - 1);
  const ribbons = shape("g", {}), words = shape("g", {});
  const full = TOP + cells * scale + GAP;
  steps.forEach((step, i) => {
    const x0 = at(i) + POST, x1 = at(i + 1);
    const wrong0 = TOP + (step.kept_right + step.broken) * scale + GAP;
    const wrong1 = TOP + (step.kept_right + step.mended) * scale + GAP;
    ribbons.append(ribbon(x0, TOP, x1, TOP, step.kept_right * scale, "var(--bg3)", 1));
    ribbons.append(ribbon(x0, full - step.kept_wrong * scale, x1, full - step.kept_wrong * scale, step.kept_wrong * scale, "var(--line2)", 0.6));
    const broken = Math.max(step.broken * scale, step.broken ? 1.5 : 0), mended = Math.max(step.mended * scale, step.mended ? 1.5 : 0);
    ribbons.append(ribbon(x0, TOP + step.kept_right * scale, x1, wrong1, broken, "var(--wrong)", 0.62));
    ribbons.append(ribbon(x0, wrong0, x1, TOP + step.kept_right * scale, mended, "var(--right)", 0.62));
    const far = (x1 - x0) * 0.3;
    if (step.broken) words.append(shape("text", { x: x1 - far, y: wrong1 - 21, "font-size": 12, "font-weight": 600, "text-anchor": "middle", fill: "var(--wrong)", class: "halo" }, `${count(step.broken)} broken`));
    if (step.mended) words.append(shape("text", { x: x0 + far, y: wrong0 + 3, "font-size": 12, "font-weight": 600, "text-anchor": "middle", fill: "var(--right)", class: "halo" }, `${count(step.mended)} mended`));
    if (!step.broken && !step.mended) words.append(shape("text", { x: (x0 + x1) / 2, y: TOP + 20, "font-size": 12, "text-anchor": "middle", fill: "var(--tx2)" }, "nothing changed"));
  });
  svg.append(ribbons);
  posts.forEach((post, i) => {
    const x = at(i), right = post.right * scale, wrong = (cells - post.right) * scale;
    const g = shape("g", { class: roleColour(post.role) });
    const last = i === posts.length - 1 && i > 0;
    const [tx, anchor] = i === 0 ? [x, "start"] : last ? [x + POST, "end"] : [x + POST / 2, "middle"];
    g.append(shape("text", { x: tx, y: 13, "font-size": 13, "font-weight": 620, "text-anchor": anchor, fill: "var(--r)" }, post.name));
    g.append(shape("text", { x: tx, y: 29, "font-size": 11.5, "text-anchor": anchor, fill: "var(--tx2)" }, post.share));
    const box = shape("rect", { x, y: TOP, width: POST, height: Math.max(right, 0.5), rx: 2, fill: "var(--r)" });
    box.append(shape("title", {}, `${post.name}: ${count(post.right)} right`));
    const hollow = shape("rect", { x: x + 0.75, y: TOP + right + GAP, width: POST - 1.5, height: Math.max(wrong, 1.5), rx: 2, fill: "var(--bg)", stroke: "var(--r)", "stroke-width": 1.5 });
    hollow.append(shape("title", {}, `${post.name}: ${count(cells - post.right)} wrong`));
    g.append(box, hollow);
    svg.append(g);
  });
  words.append(shape("text", { x: at(0) + POST + 8, y: TOP + 18, "font-size": 12, fill: "var(--tx2)" }, "right"));
  words.append(shape("text", { x: at(0) + POST + 8, y: H - 12, "font-size": 12, fill: "var(--tx2)", class: "halo" }, "wrong"));
  svg.append(words);
  return svg;
}

// ---- to take away: the picture as it is drawn, in a file that needs no style sheet, and its numbers

const PAINT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-linejoin", "paint-order"];
const FONT = ["font-size", "font-weight", "font-variant-numeric"];
const EDGE = 12;

function standalone(svg, ground) {
  const copy = svg.cloneNode(true);
  const [W, H] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
  const drawn = svg.querySelectorAll("*"), copied = copy.querySelectorAll("*");
  drawn.forEach((node, i) => {
    if (node.tagName === "g" || node.tagName === "title") return;
    const style = getComputedStyle(node);
    for (const name of node.tagName === "text" ? [...PAINT, ...FONT] : PAINT) {
      if (style.getPropertyValue(name)) copied[i].setAttribute(name, style.getPropertyValue(name));
    }
  });
  for (const node of [copy, ...copied]) node.removeAttribute("class");
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("font-family", "Inter, system-ui, sans-serif");
  copy.setAttribute("width", W + 2 * EDGE);
  copy.setAttribute("height", H + 2 * EDGE);
  copy.setAttribute("viewBox", `${-EDGE} ${-EDGE} ${W + 2 * EDGE} ${H + 2 * EDGE}`);
  copy.prepend(shape("rect", { x: -EDGE, y: -EDGE, width: "100%", height: "100%", fill: ground }));
  return new XMLSerializer().serializeToString(copy);
}

function offer(text, type, name) {
  const link = el("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function button(sign, word, title, on) {
  const node = el("button", "", icon(sign), word);
  node.type = "button";
  node.title = title;
  node.onclick = on;
  return node;
}

function foot(root, data) {
  const ground = () => getComputedStyle(root.querySelector(".foot")).backgroundColor;
  return el("div", "foot",
    button("picture", "SVG", "This chart as a picture, in the colours shown", () =>
      offer(standalone(root.querySelector("svg"), ground()), "image/svg+xml", `${data.name}.svg`)),
    button("download", "CSV", "The numbers of this chart", () => offer(data.csv, "text/csv", `${data.name}.csv`)));
}

const watched = new WeakMap();

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".flow");
  const said = el("p");
  for (const part of data.sentence || []) said.append(part.strong ? el("b", "", part.text) : part.text);
  const below = foot(root, data);
  // Drawn for the width that there is, so that words keep their size.
  let width = 0;
  const draw = () => {
    const now = Math.max(300, Math.round(root.clientWidth || 600));
    if (now === width) return;
    width = now;
    root.replaceChildren(drawFlow(data, width, data.height || 220), below, said);
  };
  const before = watched.get(root);
  if (before) before.disconnect();
  const observer = new ResizeObserver(draw);
  observer.observe(root);
  watched.set(root, observer);
  draw();
  return () => { observer.disconnect(); watched.delete(root); };
}
