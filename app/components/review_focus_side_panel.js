// The side panel of Focus: transcript, guideline and history of the shown document, one below the other.

import { Debate } from "./debate_state.js";
import { DebateView } from "./debate_view.js";
import { el, makeScrollable, setText } from "./dom.js";
import { formatPlural } from "./format.js";
import { guidelineNode, historyNode } from "./review_panels.js";

/** @import { ReviewClient } from "./review_client.js" */
/** @import { Guideline, ReviewDocument, ReviewInfo } from "./review_panels.js" */

/** @typedef {"transcript" | "guideline" | "history"} SideName */
/** @typedef {{ button: HTMLButtonElement, note: HTMLElement, section: HTMLElement, content: HTMLElement }} SidePart */

/** @param {ReviewDocument} document */
function hiddenUntil({ hidden, second_reading: isSecond }) {
  if (!hidden) return "";
  return isSecond ? "after you submit" : "after you have decided";
}

export class ReviewSidePanel {
  /**
   * @param {ReviewInfo} info
   * @param {ReviewClient} client
   * @param {(title: string, key: string) => HTMLButtonElement} createButton Create the button of a part.
   */
  constructor(info, client, createButton) {
    this.info = info;
    this.client = client;
    /** The names of the open parts. @type {Set<SideName>} */
    this.open = new Set();
    /** @type {ReviewDocument | null} */
    this.document = null;
    /** The last request to fill each part: an earlier one may be answered later. @type {Map<SideName, object>} */
    this.fills = new Map();
    this.focused = ""; // The label whose guideline is shown.
    /** @type {Guideline | null} */
    this.guideline = null;
    /** @type {(name: SideName, title: string, key: string) => [SideName, SidePart]} */
    const part = (name, title, key) => {
      const note = el("span", "muted tiny");
      const content = el("div", "scroll");
      makeScrollable(content, title);
      const section = el("div", "side-part", el("div", "panel-head", el("h2", "", title), note), content);
      return [name, { button: createButton(title, key), note, section, content }];
    };
    this.parts = new Map([
      part("transcript", "Transcript", "T"),
      part("guideline", "Guideline", "G"),
      part("history", "History", "H"),
    ]);
    this.node = el("section", "panel side", ...[...this.parts.values()].map(({ section }) => section));
  }

  get buttons() {
    return [...this.parts.values()].map(({ button }) => button);
  }

  /** @param {SideName} name */
  toggle(name) {
    if (!this.open.delete(name)) this.open.add(name);
  }

  /**
   * Draw the open parts for a document.
   *
   * @param {ReviewDocument | null} document
   * @param {string} focused The id of the focused label.
   */
  draw(document, focused) {
    this.document = document;
    this.focused = focused;
    for (const [name, { button, section }] of this.parts) {
      const isOpen = this.open.has(name);
      button.ariaExpanded = String(isOpen);
      button.classList.toggle("active", isOpen);
      section.classList.toggle("hidden", !isOpen);
      if (isOpen) this.fill(name);
    }
    setText(this.partOf("transcript").note, document ? hiddenUntil(document) : "");
  }

  /**
   * Show the guideline of another label.
   *
   * @param {string} focused
   */
  focus(focused) {
    this.focused = focused;
    if (this.open.has("guideline")) this.fill("guideline");
  }

  /** Show an action on the document in its history. */
  update() {
    if (this.open.has("history")) this.fill("history");
  }

  /** @param {SideName} name */
  partOf(name) {
    return /** @type {SidePart} */ (this.parts.get(name));
  }

  /** @param {SideName} name */
  async fill(name) {
    const { document, fills } = this;
    if (!document) return;
    const fill = {};
    fills.set(name, fill);
    const [nodes, text] = await this.partNodes(name, document);
    if (this.document !== document || fills.get(name) !== fill) return;
    const { content, note } = this.partOf(name);
    content.replaceChildren(...nodes);
    if (text) setText(note, text);
  }

  /** @param {SideName} name @param {ReviewDocument} document @returns {Promise<[nodes: Node[], note?: string]>} */
  async partNodes(name, document) {
    const { info, client } = this;
    if (name === "guideline") {
      this.guideline ??= /** @type {Guideline} */ (await client.query("guideline", {}));
      return [[guidelineNode(this.guideline, info.labels, this.focused)]];
    }
    if (name === "history") {
      const { entries, total } = await client.query("history", { document: document.id });
      return [[historyNode(entries)], formatPlural(total, "event")];
    }
    const { events } = await client.query("transcript", { document: document.id });
    if (!events.length) {
      const none = document.hidden ? `Shown ${hiddenUntil(document)}.` : "No debate on this document.";
      return [[el("div", "guideline", none)]];
    }
    const view = new DebateView(new Debate(document.id, info));
    for (const event of events) view.show(event);
    return [[view.node]];
  }
}
