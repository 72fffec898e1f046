// Focus: review one document at a time by keyboard. Actions are sent over a separate route (review_client.js), so a key
// press is saved and shown without a rerun of the page.

import { ActionQueue } from "./action_queue.js";
import { button, el, isClosedSelectBox, isTyping } from "./dom.js";
import { documentNodes } from "./evidence.js";
import { formatCount } from "./format.js";
import { createLabels, disputedItems } from "./labels.js";
import { ReviewClient } from "./review_client.js";
import { ReviewDocuments } from "./review_focus_documents.js";
import { ReviewForm } from "./review_focus_form.js";
import { ReviewKeys } from "./review_focus_keys.js";
import { ReviewNote } from "./review_focus_note.js";
import { documentPanel, isBlind } from "./review_panels.js";
import { isSettled, isWaiting, REACTION_MS, samplingOf } from "./review_queue.js";
import { ReviewQueueList } from "./review_focus_queue_list.js";
import { ReviewSidePanel } from "./review_focus_side_panel.js";
import { createRoles } from "./roles.js";
import { Stopwatch } from "./stopwatch.js";
import { mountView, notifyWhenIdle } from "./streamlit_bridge.js";

/** @import { Kind, LabelData, Value } from "./labels.js" */
/** @import { KeyActions } from "./review_focus_keys.js" */
/** @import { Progress, ReviewDocument, ReviewInfo } from "./review_panels.js" */
/** @import { ReviewStatus } from "./review_queue.js" */
/** @import { SideName } from "./review_focus_side_panel.js" */
/** @import { RoleData } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/**
 * @typedef {object} FocusData
 * @property {string} run
 * @property {string} actor
 * @property {LabelData[]} labels
 * @property {RoleData[]} roles
 * @property {Kind} kind
 * @property {Record<string, { min: number, max: number }>} scales Of the dimensions of a rating.
 * @property {Record<string, unknown>} filters Of the queue.
 * @property {{ even: number, blind: boolean }} settings
 * @property {string[]} tags Error types.
 * @property {string | null} document The document that the page requests.
 * @property {string} height A CSS length.
 */

const REFRESHED_AFTER = 5; // The queue is loaded again after so many submitted documents.
const ROWS_AHEAD = 8; // More rows are loaded this many rows before the end.
const PREFETCHED = 4; // Documents that are loaded before they are shown.
const NOTIFY_MS = 700; // Delay of the page's rerun, because its content below is not urgent.
const ACTIVITY = ["pointermove", "keydown", "wheel"];
const REFRESHED_AFTER_UNDO = 5;

function loadingNode() {
  return el("div", "empty", el("p", "", "Loading the queue …"));
}

class FocusView {
  /** @param {HTMLElement} root @param {Component<FocusData>} component */
  constructor(root, component) {
    this.root = root;
    this.component = component;
    const { data } = component;
    /** @type {ReviewInfo} */
    this.info = {
      labels: createLabels(data.labels),
      roles: createRoles(data.roles),
      kind: data.kind,
      scales: data.scales,
    };
    const { info } = this;
    this.blind = data.settings.blind;
    this.receivedBlind = this.blind; // An earlier run of the page may not have read a change by the key B.
    this.requested = data.document;
    this.leaving = new AbortController();
    // Before the listener of the client, which sends what was typed.
    window.addEventListener("pagehide", () => this.saveTyped(), { signal: this.leaving.signal });
    this.client = new ReviewClient({ run: data.run, actor: data.actor }, (state, text) => {
      if (state === "gone") this.showGone(text);
      else this.form.showSaveState(state, text);
    });
    this.documents = new ReviewDocuments(this.client);
    /** @type {string | null} */
    this.id = null;
    /** @type {ReviewDocument | null} */
    this.document = null;
    /** @type {Progress | null} */
    this.progress = null;
    this.submitted = 0;
    this.continuedAt = -Infinity; // When a decision showed what the reviewer has not acted on since.
    /** The user's choice; without a choice, the side panel replaces the queue on a narrow screen. @type {boolean | null} */
    this.showsQueue = null;
    this.stopwatch = new Stopwatch();
    this.actions = new ActionQueue();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;

    this.note = new ReviewNote({ save: (text) => this.setNote(text), onLeave: () => root.focus() });
    this.keys = new ReviewKeys(root, info, this.note, this.actions, {
      actions: this.keyActions(),
      onDigit: (digit) => this.form.handleDigit(digit),
      onTagDigit: (digit) => this.toggleTag(this.data.tags[digit - 1]),
      endDigits: () => this.form.finishRating(),
    });
    this.form = new ReviewForm(info, this.note, this.keys, this.actions, {
      tags: () => this.data.tags,
      onValue: (item, value) => this.setValue(item, value),
      onTag: (tag) => this.toggleTag(tag),
      onFocus: () => this.drawFocus(),
    });
    this.queue = new ReviewQueueList(this.client, {
      filters: () => this.data.filters,
      opener: ({ id }) => this.keys.press(() => this.show(id)),
      emptyNode: () => (this.progress && this.id !== null ? this.emptyNode() : null), // A decided document is open.
    });
    this.side = new ReviewSidePanel(info, this.client, (title, key) => this.keys.button("ghost", title, key));
    this.blindButton = this.keys.button("push", "Blind", "B");
    this.blindButton.title = "Decide first, then see the verdict";
    const queueHead = el("div", "panel-head", el("h2", "", "Queue"), this.queue.count, this.blindButton);
    this.left = el("section", "panel queue", queueHead, this.queue.list);
    this.queueButton = this.keys.button("ghost", "Queue", "Q");
    this.middle = el("section", "panel middle", loadingNode());
    this.text = el("div", "text");
    this.sideButtons = el("div", "side-buttons", this.queueButton, ...this.side.buttons);
    const isFirst = !root.hasChildNodes();
    root.tabIndex = -1;
    const columns = el("div", "columns", this.left, this.middle, this.side.node, this.form.node);
    root.replaceChildren(columns, this.keys.line, this.keys.help);
    this.drawColumns();
    this.drawBlind();

    this.listeners = new AbortController();
    const { signal } = this.listeners;
    window.addEventListener("keydown", (event) => this.keys.handle(event), { signal });
    window.addEventListener("focus", () => this.actions.add(() => this.refreshShown()), { signal });
    window.addEventListener("beforeunload", (event) => this.warnBeforeLoss(event), { signal: this.leaving.signal });
    for (const kind of ACTIVITY) {
      window.addEventListener(kind, () => this.stopwatch.noteActivity(), { passive: true, signal });
    }
    if (isFirst) this.takeFocus();
    this.isShown = true;
    this.sizes = new ResizeObserver(() => this.noteVisibility());
    this.sizes.observe(root);
    this.actions.add(() => this.reload(data.document));
  }

  /** @returns {KeyActions} */
  keyActions() {
    return {
      ArrowLeft: () => this.showNeighbour(-1),
      ArrowRight: () => this.showNeighbour(1),
      ArrowUp: () => this.form.moveFocus(-1),
      ArrowDown: () => this.form.moveFocus(1),
      "-": () => this.form.stepRating(-1),
      "+": () => this.form.stepRating(1),
      " ": () => this.form.toggleFocused(),
      Enter: () => this.submit(),
      Backspace: () => this.undo("undo"),
      u: () => this.undo("undo"),
      y: () => this.undo("redo"),
      f: () => this.toggleFlag(),
      s: () => this.skip(),
      d: () => this.toggleDiscarded(),
      b: () => this.toggleBlind(),
      q: () => this.toggleQueue(),
      t: () => this.togglePart("transcript"),
      g: () => this.togglePart("guideline"),
      h: () => this.togglePart("history"),
      n: () => this.note.enter(),
    };
  }

  /** Take the focus from the switch or select box that chose this view. Otherwise it would handle the keys. */
  takeFocus() {
    const { activeElement } = document;
    if (!isTyping(activeElement) || isClosedSelectBox(activeElement)) this.root.focus({ preventScroll: true });
  }

  /**
   * Load the queue again when Streamlit shows the view again. If other parts of the page run at the same time, Streamlit
   * hides the view that the user leaves, instead of removing it. Its documents change in the meantime.
   */
  noteVisibility() {
    const wasShown = this.isShown;
    this.isShown = this.root.checkVisibility();
    if (this.isShown === wasShown) return;
    if (this.isShown) {
      this.takeFocus();
      this.actions.add(() => this.reload(this.requested ?? this.id));
    } else this.middle.replaceChildren(loadingNode());
  }

  /** Stop taking keys. Those that were pressed are still performed. */
  destroy() {
    this.listeners.abort();
    this.sizes.disconnect();
    this.actions.add(() => {
      this.saveTyped();
      this.client.close();
      clearTimeout(this.timer);
      this.leaving.abort();
    });
  }

  /** @param {Component<FocusData>} component */
  update(component) {
    this.component = component;
    const { height, document: requested, settings } = component.data;
    this.root.style.setProperty("--height", height);
    if (settings.blind !== this.receivedBlind && settings.blind !== this.blind) {
      this.blind = settings.blind;
      this.drawBlind();
      this.actions.add(() => this.reload(this.id));
    }
    this.receivedBlind = settings.blind;
    if (requested && requested !== this.requested) this.actions.add(() => this.show(requested));
    this.requested = requested;
  }

  get data() {
    return this.component.data;
  }

  // Data of the studio

  /** @param {string | null} wanted */
  async reload(wanted) {
    const { queue } = this;
    queue.rows = [];
    this.documents.clear();
    const [known] = await Promise.all([wanted && this.documents.load(wanted), queue.load()]); // another run may lack it
    await this.show(known ? wanted : ((queue.nextWaiting(-1) ?? queue.rows[0])?.id ?? null));
    this.loadProgress();
  }

  /**
   * Load a document again and redraw it if it is still shown.
   *
   * @param {string} id
   */
  async refresh(id) {
    this.documents.delete(id);
    if (this.id !== id) return;
    const document = await this.documents.load(id);
    if (this.id !== id) return;
    this.document = document;
    this.draw();
  }

  /**
   * Load the shown document again: the reviewer comes back to this tab and may have changed it in another one. It is
   * redrawn only then, because the reviewer may be pressing one of its buttons.
   */
  async refreshShown() {
    const { document: shown, note } = this;
    if (!shown || note.isOpen || this.client.pending.length) return;
    const document = await this.documents.loadChanged(shown, () => this.document === shown && !note.isOpen);
    if (!document) return;
    this.document = document;
    const row = this.queue.find(document.id);
    if (row) row.status = document.status;
    this.queue.draw();
    this.draw();
  }

  async loadProgress() {
    this.progress = await this.client.query("progress", {});
    this.drawKeys();
    if (!this.queue.rows.length) this.queue.draw();
    if (this.id === null) this.drawDocument();
  }

  // The shown document

  /** @param {string | null} id */
  async show(id) {
    this.saveTyped();
    this.id = id;
    this.document = null;
    this.continuedAt = -Infinity;
    this.form.clearProblem();
    this.queue.select(id);
    if (id === null) {
      this.draw();
      return;
    }
    const document = await this.documents.load(id);
    if (this.id !== id) return;
    this.document = document;
    this.stopwatch.restart();
    this.draw();
    clearTimeout(this.timer);
    const notify = () => this.component.setStateValue("document", this.id);
    this.timer = setTimeout(() => notifyWhenIdle(this.root, notify), NOTIFY_MS);
    this.prefetch();
  }

  /** Load the documents and the rows of the queue that will probably be shown next. */
  prefetch() {
    const { place, rows, hasMore } = this.queue;
    const later = rows.slice(place + 1);
    const waiting = later.filter(isWaiting).slice(0, PREFETCHED);
    for (const { id } of new Set([...later.slice(0, 1), ...waiting])) this.documents.load(id);
    if (place >= rows.length - ROWS_AHEAD && hasMore) this.queue.load();
  }

  /** @param {number} step */
  async showNeighbour(step) {
    const { queue } = this;
    const { place } = queue;
    if (!queue.rows[place + step] && step > 0) await queue.load();
    const start = place < 0 && step < 0 ? queue.rows.length : place; // no document is shown at the end of the queue
    const next = queue.rows[start + step];
    if (next) await this.show(next.id);
  }

  async showNext() {
    const { queue } = this;
    const { place } = queue;
    if (!queue.nextWaiting(place)) await queue.load();
    const skipped = queue.rows.find(({ status }) => !isSettled(status));
    await this.show((queue.nextWaiting(place) ?? queue.nextWaiting(-1) ?? skipped)?.id ?? null);
  }

  // Actions. The view shows them at once; "Saved" waits for the studio.

  /**
   * Perform an action on the document. Returns null if the studio refuses it; the document is then loaded again.
   *
   * @param {string} name
   * @param {Record<string, unknown>} [fields]
   */
  async act(name, fields = {}) {
    const { id } = this;
    if (id === null) return null;
    this.continuedAt = -Infinity;
    const answer = await this.client.act(name, { document: id, seconds: this.stopwatch.seconds, ...fields });
    if (!answer) await this.refresh(id);
    else if (id === this.id) this.side.update();
    return answer;
  }

  /** @param {string} id @param {ReviewStatus} status */
  setStatus(id, status) {
    const { document, queue } = this;
    if (document?.id === id) {
      // A document that was opened by its id has no row yet if it waits further down or is decided.
      const countsOtherwise = isSettled(status) !== isSettled(document.status);
      if (countsOtherwise && queue.isOrdered && !queue.find(id)) queue.add(document);
      document.status = status;
    }
    queue.setStatus(id, status);
  }

  /** @param {string} item @param {Value} value */
  setValue(item, value) {
    const { document } = this;
    if (!document) return;
    document.values[item] = value;
    if (!document.edited.includes(item)) document.edited.push(item);
    document.outdated = document.outdated.filter((each) => each !== item);
    if (document.status === "Pending") this.setStatus(document.id, "Draft");
    this.form.draw(document);
    this.act("set", { item, value });
  }

  async submit() {
    const { document } = this;
    if (!document) return;
    this.saveTyped();
    if (this.isTooEarly || !this.form.checkDecided()) return;
    if (isBlind(document)) await this.reveal();
    else await this.submitDocument(document);
    this.continuedAt = performance.now();
  }

  /** True if a decision would be on what has just been shown, as by the second click of a double click. */
  get isTooEarly() {
    return performance.now() - this.continuedAt < REACTION_MS;
  }

  /** @param {ReviewDocument} document */
  submitDocument(document) {
    const sampling = samplingOf(this.queue.rows, this.queue.find(document.id));
    this.act("submit", { sampling }).then((answer) => {
      if (document.hidden) this.documents.delete(document.id);
      if (answer) {
        notifyWhenIdle(this.root, () => this.component.setTriggerValue("settled", document.id));
        this.loadProgress();
        this.submitted += 1;
        if (this.queue.isOrdered && this.submitted % REFRESHED_AFTER === 0) this.queue.refresh();
      } else this.setStatus(document.id, "Draft");
    });
    document.outdated = [];
    this.setStatus(document.id, "Submitted");
    return this.showNext();
  }

  async reveal() {
    const { id } = this;
    if (id !== null && (await this.act("reveal"))) await this.refresh(id);
  }

  /** @param {"undo" | "redo"} name */
  async undo(name) {
    this.saveTyped();
    const answer = await this.client.act(name, {});
    if (!answer) return;
    const { touched } = answer;
    if (!touched.length) {
      this.form.showSaveState("idle", `Nothing to ${name}`);
      return;
    }
    for (const id of touched) this.documents.delete(id);
    const documents = await Promise.all(touched.slice(0, REFRESHED_AFTER_UNDO).map((id) => this.documents.load(id)));
    for (const document of documents) if (document) this.queue.update(document);
    const changed = documents.find((document) => document !== null); // null: the document is not in this run
    if (changed) await this.show(changed.id);
    this.queue.remove(touched.slice(REFRESHED_AFTER_UNDO));
    await this.queue.refresh();
    this.loadProgress();
  }

  toggleFlag() {
    if (!this.document) return;
    this.document.flagged = !this.document.flagged;
    this.act("flag", { value: this.document.flagged || null });
    this.form.draw(this.document);
  }

  async skip() {
    if (!this.document || this.isTooEarly) return;
    const row = this.queue.find(this.document.id);
    if (row) row.skipped = true;
    this.document.skipped = true;
    this.act("skip", { value: true });
    await this.showNext();
    this.continuedAt = performance.now();
  }

  async toggleDiscarded() {
    if (!this.document) return;
    const { id, status } = this.document;
    if (isSettled(status)) {
      this.act("reopen").then(() => {
        this.documents.delete(id); // earlier, it could be loaded as it was before
        this.loadProgress();
      });
      this.setStatus(id, "Draft");
      this.form.draw(this.document);
      this.continuedAt = performance.now(); // the same button discards it now
    } else if (!this.isTooEarly) {
      const sampling = samplingOf(this.queue.rows, this.queue.find(id));
      this.act("discard", { sampling }).then(() => this.loadProgress());
      this.setStatus(id, "Discarded");
      await this.showNext();
      this.continuedAt = performance.now();
    }
  }

  /** @param {string | undefined} tag */
  toggleTag(tag) {
    const { document } = this;
    if (!document || !tag) return;
    const { tags } = document;
    document.tags = tags.includes(tag) ? tags.filter((each) => each !== tag) : [...tags, tag];
    this.act("tags", { value: document.tags.length ? document.tags : null });
    this.form.draw(document);
  }

  saveTyped() {
    this.form.finishRating();
    this.note.save();
  }

  /** @param {string} text */
  async setNote(text) {
    if (!this.document) return null;
    this.document.comment = text;
    return this.act("note", { value: text || null });
  }

  async toggleBlind() {
    this.blind = !this.blind;
    this.saveTyped();
    this.drawBlind();
    await this.client.act("settings", { blind: this.blind });
    notifyWhenIdle(this.root, () => this.component.setStateValue("blind", this.blind));
    await this.reload(this.id);
  }

  /**
   * Ask before the tab is closed while keys wait for a document. Actions that were begun are sent in any case.
   *
   * @param {BeforeUnloadEvent} event
   */
  warnBeforeLoss(event) {
    if (this.actions.waiting.length) event.preventDefault();
  }

  // Drawing

  draw() {
    this.form.draw(this.document);
    this.drawDocument();
    this.side.draw(this.document, this.form.focused);
    this.drawKeys();
  }

  /** Draw what depends on the focused label, except the form. */
  drawFocus() {
    this.drawText();
    this.side.focus(this.form.focused);
    this.drawKeys();
  }

  drawKeys() {
    const { document } = this;
    this.keys.draw(this.form.focused, document !== null && isBlind(document), this.progress);
  }

  drawBlind() {
    this.blindButton.classList.toggle("active", this.blind);
    this.blindButton.ariaPressed = String(this.blind);
  }

  drawDocument() {
    const { document, info, text } = this;
    this.drawText();
    const nodes = document ? [...documentPanel(document, info, text), this.sideButtons] : [this.emptyNode()];
    this.middle.replaceChildren(...nodes);
  }

  /** Draw the text with the evidence, that of the focused label first. */
  drawText() {
    if (!this.document) return;
    const { fields, evidence, roles } = this.document;
    const disputed = disputedItems(Object.values(roles));
    this.text.replaceChildren(...documentNodes(fields, evidence, this.info.labels, disputed, this.form.focused));
  }

  emptyNode() {
    const [title, text, label, filter] = this.reasonForNone();
    const show = label && button("button", () => this.component.setTriggerValue("filter", filter), label);
    return el("div", "empty", el("b", "", title), el("p", "", text), show);
  }

  /**
   * Return why no document is shown: title, text, and the button that helps with the filter that it sets.
   *
   * @returns {[title: string, text: string, label?: string, filter?: "none" | "decided"]}
   */
  reasonForNone() {
    const { documents } = this.progress ?? {};
    const { rows, total, isOrdered } = this.queue;
    if (!isOrdered && rows.length && rows.length < total) {
      const listed = `${formatCount(rows.length)} of the ${formatCount(total)} documents that match the filters`;
      return ["All listed documents are decided", `The queue lists ${listed}. Narrow the filters to review others.`];
    }
    if (rows.length)
      return ["All documents are decided", "Continue in the sidebar, or go back with the left arrow key."];
    if (!isOrdered) return ["No documents to review", "No document matches the filters.", "Clear filters", "none"];
    const all = documents === undefined ? "All" : `All ${formatCount(documents)}`;
    const text = "No documents wait for review. You can change decisions, or choose another run above.";
    return [`${all} documents are decided`, text, "Show submitted documents", "decided"];
  }

  /** @param {SideName} name */
  togglePart(name) {
    this.side.toggle(name);
    this.drawColumns();
    this.side.draw(this.document, this.form.focused);
  }

  toggleQueue() {
    this.showsQueue = !this.left.checkVisibility();
    this.drawColumns();
  }

  drawColumns() {
    const { side, showsQueue } = this;
    this.root.classList.toggle("with-side", side.open.size > 0);
    this.root.classList.toggle("with-queue", showsQueue === true);
    this.root.classList.toggle("without-queue", showsQueue === false);
    this.queueButton.ariaExpanded = String(this.left.checkVisibility());
  }

  /**
   * Stop, because the studio has no data for this view any more.
   *
   * @param {string} text
   */
  showGone(text) {
    this.listeners.abort();
    this.leaving.abort();
    this.client.close();
    this.root.replaceChildren(el("div", "empty", el("b", "", text)));
  }
}

/** @param {Component<FocusData>} component */
export default function (component) {
  const { run, actor, filters, settings } = component.data;
  return mountView(component, [run, actor, filters, settings.even], (root) => new FocusView(root, component));
}
