// The editor of a prompt template: a text area with the coloured text behind it.
//
// The page receives the text when typing pauses. The editor takes over the page's text only for another `life` (another
// template, a reset), so the page never replaces text that the user is typing.

import { el } from "./dom.js";
import { mountView } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {{ line: number, severity: "error" | "warning" }} Problem */
/**
 * @typedef {object} TemplateData
 * @property {string} text
 * @property {string} life
 * @property {string} name
 * @property {Problem[]} problems
 */

const REST_MS = 450;
const TAG = /(\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}|\{#[\s\S]*?#\})/g;
/** @type {Record<string, string>} */
const TAG_CLASSES = { "{{": "variable", "{%": "statement", "{#": "comment" };

class TemplateEditor {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.life = "";
    this.sentText = "";
    /** @type {Problem[]} */
    this.problems = [];
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.area = el("textarea", { spellcheck: false, autocapitalize: "off" });
    this.coloured = el("div", { className: "coloured", ariaHidden: "true" });
    this.area.addEventListener("input", () => this.handleInput());
    this.area.addEventListener("blur", () => this.send());
    this.area.addEventListener("keydown", (event) => this.handleKey(event));
    root.replaceChildren(el("div", "editor", this.coloured, this.area));
  }

  /** @param {Component<TemplateData>} component */
  update(component) {
    const { data } = component;
    this.component = component;
    if (this.life !== data.life) {
      this.life = data.life;
      this.area.value = data.text;
      this.sentText = this.area.value;
    }
    this.area.ariaLabel = data.name;
    this.problems = data.problems;
    this.draw();
  }

  destroy() {
    clearTimeout(this.timer);
  }

  handleInput() {
    this.problems = [];
    this.draw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(), REST_MS);
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    event.stopPropagation();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.send();
      this.component?.setTriggerValue("go", String(Date.now()));
    }
  }

  send() {
    clearTimeout(this.timer);
    if (this.area.value === this.sentText) return;
    this.sentText = this.area.value;
    this.component?.setStateValue("text", { life: this.life, text: this.sentText });
  }

  draw() {
    const lines = this.area.value.split("\n");
    this.coloured.replaceChildren(...lines.map((line, index) => this.lineNode(line, index + 1)));
  }

  /** @param {string} line @param {number} number */
  lineNode(line, number) {
    const problems = this.problems.filter((problem) => problem.line === number);
    const tone = problems.some(({ severity }) => severity === "error") ? "error" : problems.length ? "warning" : "";
    if (!line) return el("div", tone, "\u200b");
    if (/^## (system|user)\s*$/.test(line)) return el("div", tone, el("span", "heading", line));
    const parts = line.split(TAG).filter(Boolean);
    const nodes = parts.map((part) => {
      const className = part.length > 3 ? TAG_CLASSES[part.slice(0, 2)] : undefined;
      return className ? el("span", className, part) : part;
    });
    return el("div", tone, ...nodes);
  }
}

/** @param {Component<TemplateData>} component */
export default function (component) {
  return mountView(component, null, (root) => new TemplateEditor(root));
}
