// Focus: review one document at a time by keyboard. Actions are sent over a separate route (review_client.js), so a key
// press is saved and shown without a rerun of the page.

import { ActionQueue } from "./action_queue.js";
import { button, el, focusedIn, icon, isTyping, keyHint, makeScrollable, ownsKey, setText } from "./dom.js";
import { documentNodes } from "./evidence.js";
import { formatCount, formatDuration } from "./format.js";
import { createLabels, disputedItems, findLabel, isOpen } from "./labels.js";
import { ReviewClient } from "./review_client.js";
import { evidenceTable, formRows, reasonBadges, roleLegend } from "./review_panels.js";
import { isSettled, isWaiting, samplingOf } from "./review_queue.js";
import { ReviewQueueList } from "./review_queue_list.js";
import { ReviewSidePanel } from "./review_side_panel.js";
import { createRoles } from "./roles.js";
import { Stopwatch } from "./stopwatch.js";
import { mountView, notifyWhenIdle } from "./streamlit_bridge.js";

/** @import { Kind, LabelData, Value } from "./labels.js" */
/** @import { SaveState } from "./review_client.js" */
/** @import { ReviewDocument, ReviewInfo } from "./review_panels.js" */
/** @import { ReviewStatus } from "./review_queue.js" */
/** @import { SideName } from "./review_side_panel.js" */
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
/** @typedef {{ documents: number, decided: number, urgent: number, seconds: number | null }} Progress */

const DECIDED = "Submitted or discarded by you, of all documents of this run with an ended debate";
const REFRESHED_AFTER = 5; // The queue is loaded again after so many submitted documents.
const ROWS_AHEAD = 8; // More rows are loaded this many rows before the end.
const PREFETCHED = 4; // Documents that are loaded before they are shown.
const DIGITS_MS = 700; // Time for the next digit of a rating.
const NOTIFY_MS = 700; // Delay of the page's rerun, because its content below is not urgent.
const ACTIVITY = ["pointermove", "keydown", "wheel"];
const REPEATABLE = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const SERIES_KEYS = ["Enter", "Escape", "Backspace"];
const REFRESHED_AFTER_UNDO = 5;

function loadingNode() {
  return el("div", "empty", el("p", "", "Loading the queue …"));
}

/**
 * Create the message above the text of a document whose debate failed, or did not begin.
 *
 * @param {ReviewDocument} document
 */
function messageNode({ error, ended }) {
  const retry = "Retry failed documents on the Run page, or decide the labels here.";
  const skip = "Decide the labels yourself, or skip it and see its verdict later.";
  if (error) return el("div", "veil wrong", el("span", "", el("b", "", "The debate failed. "), `${error} ${retry}`));
  return ended === "open" ? el("div", "veil", el("span", "", el("b", "", "Not debated yet. "), skip)) : null;
}

/**
 * Return what a reviewer can change in a document, to compare two of its versions.
 *
 * @param {ReviewDocument} document
 */
function stateOf({ status, values, flagged, tags, comment, hidden }) {
  return JSON.stringify([status, values, flagged, tags, comment, hidden]);
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
    this.ids = data.labels.map(({ id }) => id);
    this.blind = data.settings.blind;
    this.receivedBlind = this.blind; // An earlier run of the page may not have read a change by the key B.
    this.requested = data.document;
    this.leaving = new AbortController();
    // Before the listener of the client, which sends what was typed.
    window.addEventListener("pagehide", () => this.saveTyped(), { signal: this.leaving.signal });
    this.client = new ReviewClient({ run: data.run, actor: data.actor }, (state, text) =>
      this.showSaveState(state, text),
    );
    this.queue = new ReviewQueueList(this.client, {
      filters: () => this.data.filters,
      opener: ({ id }) => this.press(() => this.show(id)),
      emptyNode: () => (this.progress && this.id !== null ? this.emptyNode() : null), // A decided document is open.
    });
    this.side = new ReviewSidePanel(this.info, this.client, (title, key, name) =>
      this.keyButton("ghost", title, key, () => this.togglePart(name)),
    );
    this.submitted = 0;
    /** @type {Map<string, Promise<ReviewDocument | null>>} */
    this.documents = new Map();
    /** @type {string | null} */
    this.id = null;
    /** @type {ReviewDocument | null} */
    this.document = null;
    this.position = 0; // The focused label.
    this.drawnPosition = 0; // The label at the time of drawing, whose evidence comes first.
    /** The user's choice; without a choice, the side panel replaces the queue on a narrow screen. @type {boolean | null} */
    this.showsQueue = null;
    /** @type {Progress | null} */
    this.progress = null;
    this.problem = "";
    /** @type {HTMLTextAreaElement | null} */
    this.note = null;
    this.isInNote = false; // The user types into the note.
    /** A rating that another digit may follow. @type {{ item: string, value: number } | null} */
    this.typedRating = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.ratingTimer = undefined;
    this.picksTag = false; // The next digit sets an error type.
    this.help = el("div", { className: "help", popover: "auto", ariaLabel: "Keys" });
    this.stopwatch = new Stopwatch();
    this.actions = new ActionQueue();
    this.waitingKeys = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;

    this.blindButton = this.keyButton("push", "Blind", "B", () => this.toggleBlind());
    this.blindButton.title = "Decide first, then see the verdict";
    const queueHead = el("div", "panel-head", el("h2", "", "Queue"), this.queue.count, this.blindButton);
    this.left = el("section", "panel queue", queueHead, this.queue.list);
    this.queueButton = this.keyButton("ghost", "Queue", "Q", () => this.toggleQueue());
    this.middle = el("section", "panel middle", loadingNode());
    this.text = el("div", "text");
    this.form = el("section", "panel form");
    this.sideButtons = el("div", "side-buttons", this.queueButton, ...this.side.buttons);
    this.saveState = el("span", { className: "save-state push tiny muted", role: "status" });
    this.keys = el("div", "keys row small secondary");
    const isFirst = !root.hasChildNodes();
    root.tabIndex = -1;
    root.replaceChildren(el("div", "columns", this.left, this.middle, this.side.node, this.form), this.keys, this.help);
    this.drawColumns();
    this.drawBlind();

    this.listeners = new AbortController();
    const { signal } = this.listeners;
    window.addEventListener("keydown", (event) => this.handleKey(event), { signal });
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

  /** Take the focus from the switch that chose this view. Otherwise the switch would handle the arrow keys. */
  takeFocus() {
    if (!isTyping(document.activeElement)) this.root.focus({ preventScroll: true });
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
    const [known] = await Promise.all([wanted && this.load(wanted), queue.load()]); // another run may lack it
    await this.show(known ? wanted : ((queue.nextWaiting(-1) ?? queue.rows[0])?.id ?? null));
    this.loadProgress();
  }

  /**
   * Return a document, or null if the run does not have it.
   *
   * @param {string} id
   */
  load(id) {
    let request = this.documents.get(id);
    if (!request) {
      request = this.client.query("document", { document: id }).then(({ document }) => document);
      this.documents.set(id, request);
    }
    return request;
  }

  /**
   * Load a document again and redraw it if it is still shown.
   *
   * @param {string} id
   */
  async refresh(id) {
    this.documents.delete(id);
    if (this.id !== id) return;
    const document = await this.load(id);
    if (this.id !== id) return;
    this.document = document;
    this.draw();
  }

  /**
   * Load the shown document again: the reviewer comes back to this tab and may have changed it in another one. It is
   * redrawn only then, because the reviewer may be pressing one of its buttons. The answer is dropped if the reviewer
   * changes the document meanwhile, because it may be older than the change.
   */
  async refreshShown() {
    const { id, document: shown } = this;
    if (id === null || !shown || this.isInNote || this.client.pending.length) return;
    const before = stateOf(shown);
    this.documents.clear();
    const document = await this.load(id);
    const isChanged = this.document !== shown || this.isInNote || stateOf(shown) !== before;
    if (!document || isChanged || stateOf(document) === before) {
      this.documents.set(id, Promise.resolve(shown));
      return;
    }
    this.document = document;
    const row = this.queue.find(id);
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

  /**
   * Return the position of the chosen label, or of the first present one where more labels than keys hide it.
   *
   * @param {ReviewDocument | null} document
   */
  firstPosition(document) {
    const { ids, info } = this;
    if (info.kind === "choice") return Math.max(0, ids.indexOf(String(document?.values.label)));
    if (info.kind === "rating" || ids.length < 10) return 0;
    return Math.max(
      0,
      ids.findIndex((id) => document?.values[id] === true),
    );
  }

  /** @param {string | null} id */
  async show(id) {
    this.saveTyped();
    const another = id !== this.id;
    this.id = id;
    this.document = null;
    this.problem = "";
    this.queue.select(id);
    if (id === null) {
      this.draw();
      return;
    }
    const document = await this.load(id);
    if (this.id !== id) return;
    this.document = document;
    this.position = another ? this.firstPosition(document) : Math.min(this.position, this.ids.length - 1);
    this.stopwatch.restart();
    this.draw();
    clearTimeout(this.timer);
    const notify = () => this.component.setStateValue("document", this.id);
    this.timer = setTimeout(() => notifyWhenIdle(this.root, notify), NOTIFY_MS);
    this.prefetch();
  }

  /** Load the documents and the rows of the queue that will probably be shown next. */
  prefetch() {
    const { place, rows, total } = this.queue;
    const later = rows.slice(place + 1);
    const waiting = later.filter(isWaiting).slice(0, PREFETCHED);
    for (const { id } of new Set([...later.slice(0, 1), ...waiting])) this.load(id);
    if (place >= rows.length - ROWS_AHEAD && rows.length < total) this.queue.load();
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
    const answer = await this.client.act(name, { document: id, seconds: this.stopwatch.seconds, ...fields });
    if (!answer) await this.refresh(id);
    return answer;
  }

  /** @param {string} id @param {ReviewStatus} status */
  setStatus(id, status) {
    if (this.document?.id === id) this.document.status = status;
    this.queue.setStatus(id, status);
  }

  /** @param {string} item @param {Value} value */
  setValue(item, value) {
    const { document } = this;
    if (!document) return;
    document.values[item] = value;
    if (!document.edited.includes(item)) document.edited.push(item);
    document.outdated = document.outdated.filter((each) => each !== item);
    if (document.status === "Pending") this.setStatus(document.id, "Draft");
    this.problem = "";
    this.drawForm();
    this.act("set", { item, value });
  }

  async submit() {
    const { document, info } = this;
    if (!document) return;
    this.saveTyped();
    const items = info.kind === "choice" ? ["label"] : this.ids;
    const open = items.filter((item) => isOpen(document.values[item]));
    if (open.length) this.askFor(open);
    else if (document.hidden && !document.second_reading) await this.reveal();
    else await this.submitDocument(document);
  }

  /**
   * Show the items that must be decided first.
   *
   * @param {string[]} items
   */
  askFor(items) {
    const { kind, labels } = this.info;
    this.position = kind === "choice" ? 0 : this.ids.indexOf(items[0]);
    const names = kind === "choice" ? "a label" : items.map((item) => findLabel(labels, item).name).join(", ");
    const hint = kind === "multilabel" ? " Press 0 to set the rest to absent." : "";
    this.problem = `Decide ${names} first.${hint}`;
    this.drawForm();
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
        if (this.queue.isOrdered && this.submitted % REFRESHED_AFTER === 0) this.queue.load();
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
      this.showSaveState("idle", `Nothing to ${name}`);
      return;
    }
    for (const id of touched) this.documents.delete(id);
    const documents = await Promise.all(touched.slice(0, REFRESHED_AFTER_UNDO).map((id) => this.load(id)));
    for (const document of documents) if (document) this.queue.update(document);
    const changed = documents.find((document) => document !== null); // null: the document is not in this run
    if (changed) await this.show(changed.id);
    this.loadProgress();
  }

  toggleFlag() {
    if (!this.document) return;
    this.document.flagged = !this.document.flagged;
    this.act("flag", { value: this.document.flagged || null });
    this.drawForm();
  }

  async skip() {
    if (!this.document) return;
    const row = this.queue.find(this.document.id);
    if (row) row.skipped = true;
    this.document.skipped = true;
    this.act("skip", { value: true });
    await this.showNext();
  }

  async toggleDiscarded() {
    if (!this.document) return;
    const { id, status } = this.document;
    if (isSettled(status)) {
      this.act("reopen");
      this.setStatus(id, "Draft");
      this.documents.delete(id);
      this.drawForm();
    } else {
      this.act("discard");
      this.setStatus(id, "Discarded");
      await this.showNext();
    }
  }

  /** @param {string | undefined} tag */
  toggleTag(tag) {
    const { document } = this;
    if (!document || !tag) return;
    const { tags } = document;
    document.tags = tags.includes(tag) ? tags.filter((each) => each !== tag) : [...tags, tag];
    this.act("tags", { value: document.tags.length ? document.tags : null });
    this.drawForm();
  }

  /** @param {boolean} picksTag */
  setPicksTag(picksTag) {
    this.picksTag = picksTag;
    this.form.classList.toggle("picks-tag", picksTag);
  }

  saveTyped() {
    this.finishRating();
    this.saveNote();
  }

  saveNote() {
    const { document, note } = this;
    if (!document || !note || note.value === document.comment) return;
    const { value } = note;
    document.comment = value;
    this.act("note", { value: value || null }).then((answer) => {
      if (answer) note.defaultValue = value;
    });
  }

  async toggleBlind() {
    this.blind = !this.blind;
    this.saveTyped();
    this.drawBlind();
    await this.client.act("settings", { blind: this.blind });
    notifyWhenIdle(this.root, () => this.component.setStateValue("blind", this.blind));
    await this.reload(this.id);
  }

  setRestAbsent() {
    if (!this.document || this.info.kind !== "multilabel") return;
    for (const id of this.ids) if (isOpen(this.document.values[id])) this.setValue(id, false);
  }

  // Keys: off while the user types, while a dialog of the page is open, and while the view is hidden. A key that is
  // pressed while the next document loads acts on that document.

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const source = event.composedPath()[0];
    if (event.defaultPrevented || !this.root.checkVisibility() || document.querySelector("[role='dialog']")) return;
    if (isTyping(source)) {
      const isNumber = source instanceof HTMLInputElement && this.form.contains(source);
      if (event.key === "Escape" && source === this.note) this.leaveNote();
      else if (isNumber && ["Enter", "Escape"].includes(event.key)) this.root.focus();
      return;
    }
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const isText = isPlain && event.key.length === 1;
    // After a key that waits, keys are of the same series: a focused button does not take them.
    const follows = this.waitingKeys > 0 && (isText || (isPlain && SERIES_KEYS.includes(event.key)));
    if (!follows && !(isText && this.actions.busy) && !this.actionOf(event, source)) return;
    event.preventDefault();
    // A button elsewhere, such as one of a menu that was closed, must not take an Enter that follows.
    if (isText && !(source instanceof Node && this.root.contains(source))) this.root.focus();
    if (event.repeat && !REPEATABLE.includes(event.key)) return;
    this.waitingKeys += 1;
    this.actions.add(() =>
      this.performKey(event, follows ? null : source).finally(() => {
        this.waitingKeys -= 1;
      }),
    );
  }

  /**
   * Ask before the tab is closed while keys wait for a document. Actions that were begun are sent in any case.
   *
   * @param {BeforeUnloadEvent} event
   */
  warnBeforeLoss(event) {
    if (this.actions.waiting.length) event.preventDefault();
  }

  /**
   * Perform the action of a key, or type it into the note if a key before it has opened the note.
   *
   * @param {KeyboardEvent} event
   * @param {EventTarget | null} source
   */
  async performKey(event, source) {
    const { note } = this;
    if (!note || !this.isInNote) {
      const action = this.actionOf(event, source);
      if (!/^[0-9]$/.test(event.key)) this.finishRating();
      this.setPicksTag(false);
      await action?.();
    } else if (event.key === "Escape") this.leaveNote();
    else if (event.key === "Backspace") note.value = note.value.slice(0, -1);
    else note.value += event.key === "Enter" ? "\n" : event.key.length === 1 ? event.key : "";
  }

  /**
   * Return the action of a key, or null if it has none here.
   *
   * @param {KeyboardEvent} event
   * @param {EventTarget | null} source
   * @returns {(() => unknown) | null}
   */
  actionOf({ key, ctrlKey, metaKey, altKey, shiftKey }, source) {
    const control = ctrlKey || metaKey;
    if (control && key.toLowerCase() === "z") return () => this.undo(shiftKey ? "redo" : "undo");
    if (control || altKey) return null;
    if (ownsKey(source, key)) return null;
    if (this.help.matches(":popover-open")) return key === "?" ? () => this.help.hidePopover() : null;
    const { picksTag } = this;
    if (/^[0-9]$/.test(key)) {
      return () => (picksTag ? this.toggleTag(this.data.tags[Number(key) - 1]) : this.handleDigit(Number(key)));
    }
    if (picksTag && key === "Escape") return () => this.setPicksTag(false);
    const name = key.length === 1 ? key.toLowerCase() : key;
    return this.keyLines().find(([, , actions]) => actions[name])?.[2][name] ?? null;
  }

  /**
   * Return the lines of the list of all keys, with the actions by key. Digits are handled by `actionOf`.
   *
   * @returns {[hints: string[], text: string, actions: Record<string, () => unknown>, isUnused?: boolean][]} Unused: the
   *   key does nothing with labels of this kind.
   */
  keyLines() {
    const { info, picksTag } = this;
    const isRating = info.kind === "rating";
    const { first, last, action } = this.digitKeys();
    return [
      [
        ["←", "→"],
        "previous, next document",
        { ArrowLeft: () => this.showNeighbour(-1), ArrowRight: () => this.showNeighbour(1) },
      ],
      [
        ["↑", "↓"],
        `previous, next ${isRating ? "dimension" : "label"}`,
        { ArrowUp: () => this.movePosition(-1), ArrowDown: () => this.movePosition(1) },
      ],
      [[`${first}–${last}`], isRating ? "rate the focused dimension" : `${action} a label`, {}],
      [
        ["−", "+"],
        "lower or raise the rating",
        { "-": () => this.stepRating(-1), "+": () => this.stepRating(1) },
        !isRating,
      ],
      [["Space"], `${action} the focused label`, { " ": () => this.toggleLabel(this.position) }, isRating],
      [["0"], "set the rest to absent", {}, info.kind !== "multilabel"],
      [["Enter"], "submit and continue", { Enter: () => this.submit() }],
      [["U"], "undo (or Ctrl+Z)", { u: () => this.undo("undo"), Backspace: () => this.undo("undo") }],
      [["Y"], "redo (or Ctrl+Shift+Z)", { y: () => this.undo("redo") }],
      [["F"], "flag", { f: () => this.toggleFlag() }],
      [["S"], "skip: move to the end", { s: () => this.skip() }],
      [["D"], "discard, reopen", { d: () => this.toggleDiscarded() }],
      [["B"], "blind: decide, then see the verdict", { b: () => this.toggleBlind() }],
      [["Q"], "show or hide the queue", { q: () => this.toggleQueue() }],
      [["T"], "transcript", { t: () => this.togglePart("transcript") }],
      [["G"], "guideline", { g: () => this.togglePart("guideline") }],
      [["H"], "history", { h: () => this.togglePart("history") }],
      [["E"], "error type: then its digit", { e: () => this.setPicksTag(!picksTag) }],
      [["N"], "write a note (Esc leaves)", { n: () => this.enterNote() }],
      [["?"], "show or hide the keys", { "?": () => this.openHelp() }],
    ];
  }

  get focusedLabel() {
    return this.ids[this.position];
  }

  /** @param {number} step */
  movePosition(step) {
    const { length } = this.ids;
    this.position = (this.position + step + length) % length;
    this.drawForm();
    this.drawKeys();
    this.side.focus(this.focusedLabel);
  }

  /** @param {number} digit */
  handleDigit(digit) {
    if (!this.document) return;
    if (this.info.kind === "rating") this.rateByDigit(digit);
    else if (digit === 0) this.setRestAbsent();
    else if (digit <= this.ids.length) {
      this.position = digit - 1;
      this.toggleLabel(this.position);
    }
  }

  /**
   * Rate the focused dimension and go on to the next one, or wait while the scale allows another digit.
   *
   * @param {number} digit
   */
  rateByDigit(digit) {
    const { scales } = this.info;
    const before = this.typedRating;
    const isNew = before && (before.item !== this.focusedLabel || 10 * before.value + digit > scales[before.item].max);
    if (isNew) this.finishRating(true);
    const item = this.focusedLabel;
    const scale = scales[item];
    const value = 10 * (this.typedRating?.value ?? 0) + digit;
    if (!scale || value > scale.max) return;
    this.typedRating = { item, value };
    if (value === 0 || 10 * value > scale.max) {
      this.finishRating(true);
      return;
    }
    this.showSaveState("idle", `Rating ${value} …`);
    clearTimeout(this.ratingTimer);
    this.ratingTimer = setTimeout(() => this.actions.add(() => this.finishRating(true)), DIGITS_MS);
  }

  /** @param {boolean} [goesOn] Also move to the next dimension. */
  finishRating(goesOn = false) {
    const { typedRating, info } = this;
    clearTimeout(this.ratingTimer);
    this.typedRating = null;
    if (!typedRating || typedRating.value < info.scales[typedRating.item].min) return;
    const { item, value } = typedRating;
    const place = this.ids.indexOf(item);
    if (goesOn && place === this.position && place < this.ids.length - 1) this.position += 1;
    this.setValue(item, value);
    this.drawKeys();
  }

  /**
   * Lower or raise the rating by one step; without a rating, start at the end of the scale.
   *
   * @param {1 | -1} step
   */
  stepRating(step) {
    const { scales } = this.info;
    const item = this.focusedLabel;
    const scale = scales[item];
    if (!this.document || !scale) return;
    const value = this.document.values[item];
    const [start, next] = step > 0 ? [scale.min, Math.floor] : [scale.max, Math.ceil];
    const rating = typeof value === "number" ? next(value) + step : start;
    this.setValue(item, Math.min(scale.max, Math.max(scale.min, rating)));
  }

  /** @param {number} index */
  toggleLabel(index) {
    const id = this.ids[index];
    if (this.info.kind === "choice") this.setValue("label", id);
    else if (this.info.kind === "multilabel") this.setValue(id, this.document?.values[id] !== true);
  }

  /**
   * Return a listener for a button that moves the focus back, so that the keys work after a click.
   *
   * @param {() => unknown} action
   */
  press(action) {
    return () => {
      this.actions.add(action);
      this.root.focus();
    };
  }

  /**
   * Create a button that shows its key and moves the focus back.
   *
   * @param {string} className
   * @param {string} text
   * @param {string} key
   * @param {() => unknown} action
   */
  keyButton(className, text, key, action) {
    return button(`button ${className}`, this.press(action), text, keyHint(key));
  }

  enterNote() {
    this.isInNote = true; // Also after the view was removed from the page, where nothing has the focus.
    this.note?.focus();
  }

  leaveNote() {
    this.isInNote = false;
    this.note?.blur();
    this.root.focus();
  }

  // Drawing

  draw() {
    this.drawDocument();
    this.drawForm();
    this.side.draw(this.document, this.focusedLabel);
    this.drawKeys();
  }

  drawBlind() {
    this.blindButton.classList.toggle("active", this.blind);
    this.blindButton.ariaPressed = String(this.blind);
  }

  drawDocument() {
    const { document, info } = this;
    if (!document) {
      this.middle.replaceChildren(this.emptyNode());
      return;
    }
    const { id, note, hidden, reasons } = document;
    const name = el("span", "mono bold ellipsis", id);
    const badges = el("span", "row push badges", ...reasonBadges(reasons));
    const blind = document.second_reading
      ? "Second review: another reviewer has submitted this document. You see the verdict and other labels after you submit yours."
      : "Blind: the verdict is shown after you have decided every label.";
    this.drawText(document);
    const content = el(
      "div",
      "scroll",
      hidden && el("div", "veil", icon("eye"), blind),
      messageNode(document),
      this.text,
      !hidden && evidenceTable(document, info),
    );
    makeScrollable(content, "Document");
    this.middle.replaceChildren(
      el("div", "panel-head", name, el("span", "secondary small ellipsis", note), badges),
      content,
      this.sideButtons,
    );
  }

  /** @param {ReviewDocument} document */
  drawText({ fields, evidence, roles }) {
    const { labels } = this.info;
    this.drawnPosition = this.position;
    const focused = this.focusedLabel;
    this.text.replaceChildren(...documentNodes(fields, evidence, labels, disputedItems(Object.values(roles)), focused));
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
    if (this.queue.rows.length)
      return ["All documents are decided", "Continue in the sidebar, or go back with the left arrow key."];
    if (!this.queue.isOrdered)
      return ["No documents to review", "No document matches the filters.", "Clear filters", "none"];
    const all = documents === undefined ? "All" : `All ${formatCount(documents)}`;
    const text = "No documents wait for review. You can change decisions, or choose another run above.";
    return [`${all} documents are decided`, text, "Show submitted documents", "decided"];
  }

  /** @param {SideName} name */
  togglePart(name) {
    this.side.toggle(name);
    this.drawColumns();
    this.side.draw(this.document, this.focusedLabel);
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

  drawForm() {
    const { document, info } = this;
    const title = el("h2", "", "Your verdict");
    if (!document) {
      this.form.replaceChildren(el("div", "panel-head", title, this.saveState));
      this.note = null;
      return;
    }
    if (this.drawnPosition !== this.position) this.drawText(document);
    const field = focusedIn(this.form);
    if (field instanceof HTMLInputElement && this.note?.dataset.id === document.id) {
      field.onblur = () => setTimeout(() => this.drawForm()); // The user types numbers until then.
      return;
    }
    const scrollTop = this.form.querySelector(".scroll")?.scrollTop ?? 0;
    const wasFocused = this.note !== null && focusedIn(this.root) === this.note;
    const note = this.noteField(document);
    this.note = note;
    const rows = formRows(document, info, this.position, (item, value) => {
      const set = () => {
        if (this.document?.id !== document.id) return; // the click was on the form of an earlier document
        this.position = this.ids.indexOf(info.kind === "choice" ? String(value) : item);
        this.setValue(item, value);
      };
      if (focusedIn(this.form) instanceof HTMLInputElement) this.actions.add(set);
      else this.press(set)();
    });
    const scroll = el(
      "div",
      "scroll",
      ...rows,
      roleLegend(document, info),
      this.problem ? el("div", "problem", this.problem) : null,
      el(
        "div",
        "part",
        el("h3", "row small secondary", "Error type", keyHint("E"), el("span", "muted tiny", "optional")),
        this.tagButtons(document),
      ),
      el("div", "part", el("h3", "row small secondary", "Note", keyHint("N")), note),
    );
    this.form.replaceChildren(
      el("div", "panel-head", title, el("span", "badge", document.status), this.saveState),
      scroll,
      this.actionButtons(document),
    );
    scroll.scrollTop = scrollTop;
    if (wasFocused) note.focus();
    this.form.querySelector(".form-row.focused")?.scrollIntoView({ block: "nearest" });
  }

  /**
   * Return the text area of the note; the same one for the same document, because the user may be typing. Its default
   * value is the stored comment: text that differs from the default value is not saved yet and is kept.
   *
   * @param {ReviewDocument} document
   */
  noteField({ id, comment }) {
    if (this.note?.dataset.id === id) {
      if (this.note.value === this.note.defaultValue) this.note.value = comment;
      this.note.defaultValue = comment;
      return this.note;
    }
    this.isInNote = false;
    const note = el("textarea", { defaultValue: comment, placeholder: "Reason for your verdict", ariaLabel: "Note" });
    note.dataset.id = id;
    note.onfocus = () => {
      this.isInNote = true;
    };
    note.onblur = () => {
      this.isInNote = false;
      this.saveNote();
    };
    note.onkeydown = (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.leaveNote();
    };
    return note;
  }

  /** @param {ReviewDocument} document */
  tagButtons({ tags }) {
    const pills = this.data.tags.map((name, index) => {
      const toggle = this.press(() => this.toggleTag(name));
      return button(
        { className: "pill", ariaPressed: String(tags.includes(name)) },
        toggle,
        name,
        keyHint(String(index + 1)),
      );
    });
    return el("div", "pills", ...pills);
  }

  /** @param {ReviewDocument} document */
  actionButtons({ hidden, second_reading: isSecond, flagged, status }) {
    const submit = hidden && !isSecond ? "Show verdict" : "Submit and continue";
    const flag = this.keyButton(flagged ? "ghost active" : "ghost", "Flag", "F", () => this.toggleFlag());
    flag.ariaPressed = String(flagged);
    const discard = isSettled(status) ? "Reopen" : "Discard";
    const more = [
      this.keyButton("ghost", "Undo", "U", () => this.undo("undo")),
      this.keyButton("ghost", "Redo", "Y", () => this.undo("redo")),
      flag,
      this.keyButton("ghost", "Skip", "S", () => this.skip()),
      this.keyButton("ghost", discard, "D", () => this.toggleDiscarded()),
    ];
    const main = this.keyButton("primary", submit, "Enter", () => this.submit());
    return el("div", "actions", main, el("div", "more", ...more));
  }

  /** Draw the line of the most important keys, with the progress at its end. */
  drawKeys() {
    const { kind } = this.info;
    const { first, last, action } = this.digitKeys();
    const part = (/** @type {string[]} */ keys, /** @type {string} */ text) =>
      el("span", "", ...keys.map(keyHint), text);
    const more = this.keyButton("ghost", "all keys", "?", () => this.openHelp());
    this.keys.replaceChildren(
      part(["←", "→"], "document"),
      part(["↑", "↓"], kind === "rating" ? "dimension" : "label"),
      el("span", "", keyHint(first), "to ", keyHint(last), action),
      part(["Enter"], this.blind ? "reveal" : "submit"),
      more,
      el("span", "row push", ...this.progressNodes()),
    );
  }

  /** Return the keys that change a label, and their actions. */
  digitKeys() {
    const { kind, scales } = this.info;
    const scale = scales[this.focusedLabel];
    if (kind === "rating") {
      const ends = [scale?.min ?? 0, scale?.max ?? 9].map((end) => String(Math.max(0, end)));
      return { first: ends[0], last: ends[1], action: "rate" };
    }
    return { first: "1", last: String(Math.min(9, this.ids.length)), action: kind === "choice" ? "choose" : "toggle" };
  }

  progressNodes() {
    if (!this.progress) return [];
    const { documents, decided, urgent, seconds } = this.progress;
    const bar = el("i");
    bar.style.width = `${documents ? (100 * decided) / documents : 0}%`;
    const left = seconds && urgent ? `, about ${formatDuration(seconds * urgent)}` : "";
    return [
      el("span", { title: DECIDED }, el("b", "", formatCount(decided)), ` of ${formatCount(documents)} decided`),
      el("span", "progress-bar", bar),
      el("span", "muted", `${formatCount(documents - decided)} waiting, ${formatCount(urgent)} with a reason${left}`),
    ];
  }

  /** @param {SaveState} state @param {string} text */
  showSaveState(state, text) {
    if (state === "gone") {
      this.showGone(text);
      return;
    }
    const failed = state === "lost" || state === "refused";
    const tone = failed ? "wrong" : state === "saved" ? "right" : "muted";
    this.saveState.className = `save-state push tiny ${tone} ${state}`;
    const texts = { saved: `✓ ${text}`, saving: "Saving…", refused: "Not saved", idle: text, lost: text };
    setText(this.saveState, texts[state]);
    this.saveState.title = texts[state];
    if (state !== "refused") return;
    this.problem = text;
    this.drawForm();
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

  openHelp() {
    const shown = this.keyLines().filter(([, , , isUnused]) => !isUnused);
    const close = this.keyButton("ghost push", "Close", "Esc", () => this.help.hidePopover());
    const list = shown.flatMap(([hints, text]) => [el("dt", "", ...hints.map(keyHint)), el("dd", "", text)]);
    this.help.replaceChildren(el("div", "row", el("h2", "", "Keys"), close), el("dl", "", ...list));
    this.help.showPopover();
  }
}

/** @param {Component<FocusData>} component */
export default function (component) {
  const { run, actor, filters, settings } = component.data;
  return mountView(component, [run, actor, filters, settings.even], (root) => new FocusView(root, component));
}
