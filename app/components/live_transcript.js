// The debate of a run about one document, word by word while it takes place.

import { Debate } from "./debate.js";
import { DebateView } from "./debate_view.js";
import { el, setText } from "./dom.js";
import { createLabels } from "./labels.js";
import { LiveClient } from "./live_client.js";
import { createRoles } from "./roles.js";
import { mountView, notifyWhenIdle } from "./streamlit_bridge.js";

/** @import { Kind, LabelData } from "./labels.js" */
/** @import { RunStatusEvent } from "./live_client.js" */
/** @import { RoleData } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/**
 * @typedef {object} LiveTranscriptData
 * @property {string} run
 * @property {string} document
 * @property {LabelData[]} labels
 * @property {RoleData[]} roles
 * @property {Kind} kind
 * @property {string} head
 * @property {string} note
 * @property {string} tone
 * @property {number} height
 */

class LiveTranscriptView {
  /**
   * @param {HTMLElement} root
   * @param {LiveTranscriptData} data
   */
  constructor(root, data) {
    this.root = root;
    const run = { labels: createLabels(data.labels), roles: createRoles(data.roles), kind: data.kind };
    this.view = new DebateView(new Debate(data.document, run));
    this.body = el("div", "", el("div", "empty", "No turns yet."));
    this.note = el("span", "secondary tiny ellipsis");
    this.root.replaceChildren(el("div", "panel-head", el("h2", "", data.head), this.note), this.body);
    /** Whether the run was active at some time since it is watched. */
    this.wasActive = false;
    this.state = "";
    /** @type {(state: string) => void} */
    this.notify = () => {};
    this.client = new LiveClient({ run: data.run, onMessage: () => this.readMessages() });
    this.client.follow(data.document);
    this.client.connect();
  }

  /** @param {Component<LiveTranscriptData>} component */
  update({ data, setTriggerValue }) {
    this.notify = (state) => setTriggerValue("ended", state);
    this.root.style.setProperty("--max-height", `${data.height}px`);
    this.root.className = `moot live-transcript ${data.tone}`;
    setText(this.note, data.note);
  }

  readMessages() {
    const { view } = this;
    for (const event of this.client.read().flatMap((message) => ("events" in message ? message.events : []))) {
      if (event.kind === "run_status") this.noteState(event.state);
      else if (event.kind === "turn") view.showTurn(event);
      else if (event.kind === "verdict" && event.document_id === view.debate.id) view.showVerdict(event);
    }
    const empty = !view.views.size && !view.debate.verdict;
    if (!empty && !view.node.isConnected) this.body.replaceChildren(view.node);
  }

  /**
   * Notify the page when the run has come to rest.
   *
   * @param {RunStatusEvent["state"]} state
   */
  noteState(state) {
    const active = state === "running" || state === "queued";
    if (this.wasActive && !active && state !== this.state) notifyWhenIdle(this.root, () => this.notify(state));
    this.wasActive ||= active;
    this.state = state;
  }

  destroy() {
    this.client.close();
  }
}

/** @param {Component<LiveTranscriptData>} component */
export default function (component) {
  const { run, document, labels, head } = component.data;
  return mountView(component, [run, document, labels, head], (root) => new LiveTranscriptView(root, component.data));
}
