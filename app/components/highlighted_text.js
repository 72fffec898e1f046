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
 */

/** @param {Component<HighlightedTextData>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  const labels = createLabels(data.labels);
  const unsupported = unsupportedQuotes(data.evidence, labels);
  const nodes = documentNodes(data.fields, data.evidence, labels, new Set());
  root.replaceChildren(...nodes, ...(unsupported ? [unsupported] : []));
}
