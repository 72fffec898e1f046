// A document with its evidence. Quotes that are not in the text are listed below it.

import { documentNodes, unsupportedQuotes } from "./evidence.js";
import { createLabels } from "./labels.js";
import { isUnchanged, rootOf } from "./streamlit_bridge.js";

/** @import { Evidence } from "./evidence.js" */
/** @import { LabelData } from "./labels.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/**
 * @typedef {object} HighlightedTextData
 * @property {Record<string, string>} fields
 * @property {LabelData[]} labels
 * @property {Evidence[]} evidence
 * @property {string[]} disputed
 * @property {number | null} height
 * @property {boolean} small
 * @property {boolean} missing True to list the quotes that are not in the text.
 */

/** @param {Component<HighlightedTextData>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  root.classList.toggle("small", data.small);
  root.style.setProperty("--max-height", data.height ? `${data.height}px` : "none");
  const labels = createLabels(data.labels);
  const unsupported = data.missing ? unsupportedQuotes(data.evidence, labels) : null;
  const nodes = documentNodes(data.fields, data.evidence, labels, new Set(data.disputed));
  root.replaceChildren(...nodes, ...(unsupported ? [unsupported] : []));
}
