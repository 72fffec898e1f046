// Effect of the debate as a Sankey diagram: a bar per role, correct above and incorrect below, with flows between.

import { button, el, icon, SVG_NAMESPACE, svgEl } from "./dom.js";
import { formatCount } from "./format.js";
import { rootOf } from "./streamlit_bridge.js";

/** @import { IconName } from "./dom.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {{ colour: string, name: string, correct: number, share: string }} Bar */
/** @typedef {{ corrected: number, regressed: number, kept_correct: number, kept_incorrect: number }} Step */
/**
 * @typedef {object} SankeyData
 * @property {number} cells
 * @property {number} height
 * @property {Bar[]} bars
 * @property {Step[]} steps Between one bar and the next.
 * @property {{ text: string, strong: boolean }[]} sentence
 * @property {string} name The name of downloaded files.
 * @property {string} csv
 */

const TOP = 42;
const LINE = 16; // Height of a further line of a name.
const NARROW_STEP = 180; // Width of a step in which its text and the word "correct" do not fit into one line.
const LETTER = 7.6; // Width of a letter of a name.
const GAP = 14;
const BOTTOM = 20; // The word "incorrect" is below the flows, where no other text is.
const BAR_WIDTH = 13;
const MARGIN = 14;
const THINNEST = 1.5;

class Sankey {
  /**
   * @param {SankeyData} data
   * @param {number} width
   */
  constructor({ bars, steps, cells, height, sentence }, width) {
    this.bars = bars;
    this.steps = steps;
    this.cells = cells;
    this.width = width;
    this.height = height;
    this.description = sentence.map(({ text }) => text).join("");
    this.step = (width - 2 * MARGIN - BAR_WIDTH) / Math.max(1, bars.length - 1);
    this.names = bars.map(({ name }) => linesOf(name, this.step));
    this.top = TOP + LINE * (Math.max(...this.names.map((lines) => lines.length), 1) - 1);
    this.scale = (height - this.top - GAP - BOTTOM) / Math.max(1, cells);
    this.flows = svgEl("g", {});
    this.texts = svgEl("g", {});
  }

  draw() {
    const { width, height } = this;
    const viewBox = `0 0 ${width} ${height}`;
    const svg = svgEl("svg", { width, height, viewBox, role: "img", "aria-label": this.description });
    for (const [index, step] of this.steps.entries()) {
      this.drawStep(step, this.x(index) + BAR_WIDTH, this.x(index + 1));
    }
    const bars = this.bars.map((bar, index) => this.drawBar(bar, index));
    this.drawText(this.x(0) + BAR_WIDTH + 8, this.top + 18, "correct", { fill: "var(--tx2)" });
    this.drawText(this.x(0), height - 5, "incorrect", { fill: "var(--tx2)" });
    svg.append(this.flows, ...bars, this.texts);
    return svg;
  }

  /** @param {number} index */
  x(index) {
    return MARGIN + this.step * index;
  }

  /**
   * @param {Step} step
   * @param {number} x0
   * @param {number} x1
   */
  drawStep(step, x0, x1) {
    const { scale, top } = this;
    const kept = step.kept_correct * scale;
    const incorrect0 = top + (step.kept_correct + step.regressed) * scale + GAP;
    const incorrect1 = top + (step.kept_correct + step.corrected) * scale + GAP;
    const bottom = top + this.cells * scale + GAP - step.kept_incorrect * scale;
    const thickness = (/** @type {number} */ count) => (count ? Math.max(count * scale, THINNEST) : 0);
    this.drawFlow(x0, top, x1, top, kept, "var(--bg3)", 1);
    this.drawFlow(x0, bottom, x1, bottom, step.kept_incorrect * scale, "var(--line2)", 0.6);
    this.drawFlow(x0, top + kept, x1, incorrect1, thickness(step.regressed), "var(--wrong)", 0.62);
    this.drawFlow(x0, incorrect0, x1, top + kept, thickness(step.corrected), "var(--right)", 0.62);
    const bold = { "font-weight": 600, "text-anchor": "middle", class: "halo" };
    const inset = (x1 - x0) * 0.3;
    if (step.regressed) {
      const text = `${formatCount(step.regressed)} regressed`;
      this.drawText(x1 - inset, incorrect1 - 21, text, { ...bold, fill: "var(--wrong)" });
    }
    if (step.corrected) {
      const text = `${formatCount(step.corrected)} corrected`;
      this.drawText(x0 + inset, incorrect0 + 3, text, { ...bold, fill: "var(--right)" });
    }
    if (!step.regressed && !step.corrected) {
      const y = top + (this.step < NARROW_STEP ? 38 : 20);
      this.drawText((x0 + x1) / 2, y, "no changes", { "text-anchor": "middle", fill: "var(--tx2)" });
    }
  }

  /**
   * @param {number} x0
   * @param {number} y0
   * @param {number} x1
   * @param {number} y1
   * @param {number} thickness
   * @param {string} fill
   * @param {number} opacity
   */
  drawFlow(x0, y0, x1, y1, thickness, fill, opacity) {
    const mid = (x0 + x1) / 2;
    const there = `M${x0} ${y0}C${mid} ${y0} ${mid} ${y1} ${x1} ${y1}`;
    const back = `v${thickness}C${mid} ${y1 + thickness} ${mid} ${y0 + thickness} ${x0} ${y0 + thickness}z`;
    this.flows.append(svgEl("path", { d: there + back, fill, "fill-opacity": opacity }));
  }

  /**
   * @param {Bar} bar
   * @param {number} index
   */
  drawBar(bar, index) {
    const x = this.x(index);
    const correct = bar.correct * this.scale;
    const incorrect = (this.cells - bar.correct) * this.scale;
    const last = index > 0 && index === this.bars.length - 1;
    const [textX, anchor] = index === 0 ? [x, "start"] : last ? [x + BAR_WIDTH, "end"] : [x + BAR_WIDTH / 2, "middle"];
    const name = { x: textX, "font-size": 13, "font-weight": 620, "text-anchor": anchor, fill: "var(--role)" };
    const share = { x: textX, y: this.top - 13, "font-size": 11.5, "text-anchor": anchor, fill: "var(--tx2)" };
    const full = svgEl("rect", {
      x,
      y: this.top,
      width: BAR_WIDTH,
      height: Math.max(correct, 0.5),
      rx: 2,
      fill: "var(--role)",
    });
    full.append(svgEl("title", {}, `${bar.name}: ${formatCount(bar.correct)} correct`));
    const hollow = svgEl("rect", {
      x: x + 0.75,
      y: this.top + correct + GAP,
      width: BAR_WIDTH - 1.5,
      height: Math.max(incorrect, THINNEST),
      rx: 2,
      fill: "var(--bg)",
      stroke: "var(--role)",
      "stroke-width": 1.5,
    });
    hollow.append(svgEl("title", {}, `${bar.name}: ${formatCount(this.cells - bar.correct)} incorrect`));
    const group = svgEl("g", { class: bar.colour });
    const lines = this.names[index];
    const lowest = this.top - 29;
    const names = lines.map((text, line) =>
      svgEl("text", { ...name, y: lowest - LINE * (lines.length - 1 - line) }, text),
    );
    group.append(...names, svgEl("text", share, bar.share), full, hollow);
    return group;
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {string} text
   * @param {Record<string, string | number>} attributes
   */
  drawText(x, y, text, attributes) {
    this.texts.append(svgEl("text", { x, y, "font-size": 12, ...attributes }, text));
  }
}

/**
 * Return the lines of a name such as "Critic, round 3", so that it does not reach the names of its neighbours.
 *
 * @param {string} name
 * @param {number} step Distance of two bars.
 */
export function linesOf(name, step) {
  const room = Math.floor((step * 2) / 3 / LETTER);
  if (name.length <= room) return [name];
  return name.split(", ").map((part) => (part.length > room ? `${part.slice(0, Math.max(1, room - 1))}…` : part));
}

// Downloads: the picture in a file that needs no style sheet, and its numbers.

const PAINT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-linejoin", "paint-order"];
const FONT = ["font-size", "font-weight", "font-variant-numeric"];
const EDGE = 12;

/**
 * Return an SVG file with all styles in attributes.
 *
 * @param {SVGSVGElement} svg
 * @param {string} background
 */
function standaloneSvg(svg, background) {
  const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
  const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)) + 2 * EDGE);
  const copied = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((node, index) => {
    copied[index].removeAttribute("class");
    if (node.tagName === "g" || node.tagName === "title") return;
    const style = getComputedStyle(node);
    for (const name of node.tagName === "text" ? [...PAINT, ...FONT] : PAINT) {
      const value = style.getPropertyValue(name);
      if (value) copied[index].setAttribute(name, value);
    }
  });
  copy.setAttribute("xmlns", SVG_NAMESPACE);
  copy.setAttribute("font-family", "Inter, system-ui, sans-serif");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("viewBox", `${-EDGE} ${-EDGE} ${width} ${height}`);
  copy.prepend(svgEl("rect", { x: -EDGE, y: -EDGE, width: "100%", height: "100%", fill: background }));
  return new XMLSerializer().serializeToString(copy);
}

/**
 * @param {string} text
 * @param {string} type
 * @param {string} name
 */
function download(text, type, name) {
  const link = el("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/**
 * @param {HTMLElement} root
 * @param {SankeyData} data
 */
function downloadButtons(root, data) {
  const node = el("div", "downloads");
  const saveSvg = () => {
    const svg = /** @type {SVGSVGElement} */ (root.querySelector("svg"));
    download(standaloneSvg(svg, getComputedStyle(node).backgroundColor), "image/svg+xml", `${data.name}.svg`);
  };
  const saveCsv = () => download(data.csv, "text/csv", `${data.name}.csv`);
  const add = (
    /** @type {IconName} */ name,
    /** @type {string} */ text,
    /** @type {string} */ title,
    /** @type {() => void} */ save,
  ) => {
    const added = button("", save, icon(name), text);
    added.title = title;
    node.append(added);
  };
  add("picture", "SVG", "Download this chart as SVG, in the colours shown", saveSvg);
  add("download", "CSV", "Download the data of this chart as CSV", saveCsv);
  return node;
}

/** @type {WeakMap<HTMLElement, ResizeObserver>} */
const observers = new WeakMap();

/** @param {Component<SankeyData>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  const sentence = el("p", "", ...data.sentence.map(({ text, strong }) => (strong ? el("b", "", text) : text)));
  const buttons = downloadButtons(root, data);
  let width = 0;
  // Drawn for the current width, so that texts keep their size.
  const draw = () => {
    const now = Math.max(300, Math.round(root.clientWidth || 600));
    if (now === width) return;
    width = now;
    root.replaceChildren(new Sankey(data, width).draw(), buttons, sentence);
  };
  observers.get(root)?.disconnect();
  const observer = new ResizeObserver(draw);
  observer.observe(root);
  observers.set(root, observer);
  draw();
  return () => {
    observer.disconnect();
    observers.delete(root);
  };
}
