// The transcript of a finished debate.

import { Debate } from "./debate.js";
import { DebateView } from "./debate_view.js";
import { createLabels } from "./labels.js";
import { createRoles } from "./roles.js";
import { isUnchanged, rootOf } from "./streamlit_bridge.js";

/** @import { DocumentData, TurnEvent, VerdictEvent } from "./debate.js" */
/** @import { Kind, LabelData } from "./labels.js" */
/** @import { RoleData } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/**
 * @typedef {object} TranscriptData
 * @property {Pick<DocumentData, "id" | "fields">} document
 * @property {(TurnEvent | VerdictEvent)[]} events
 * @property {LabelData[]} labels
 * @property {RoleData[]} roles
 * @property {Kind} kind
 * @property {string[]} [hidden] Roles that are left out.
 */

/**
 * Create the turns of a debate and its verdict.
 *
 * @param {TranscriptData} data
 */
export function renderTranscript(data) {
  const run = { labels: createLabels(data.labels), roles: createRoles(data.roles), kind: data.kind };
  const view = new DebateView(new Debate(data.document.id, run));
  view.hideRoles(data.hidden ?? []);
  for (const event of data.events) {
    if (event.kind === "turn") view.showTurn(event);
    else view.showVerdict(event);
  }
  return view.node;
}

/** @param {Component<TranscriptData & { framed: boolean, height: number | null }>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  root.classList.toggle("framed", data.framed);
  root.style.setProperty("--max-height", data.height ? `${data.height}px` : "none");
  root.replaceChildren(renderTranscript(data));
}
