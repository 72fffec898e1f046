// The form of Focus: the labels with the one that has the focus, the error types, the note and the main actions.

import { button, el, focusedIn, keyHint, setText } from "./dom.js";
import { findLabel, isOpen } from "./labels.js";
import { formRows, isBlind, roleLegend } from "./review_panels.js";
import { isSettled } from "./review_queue.js";
import { addDigit, DIGITS_MS, isComplete, nextRating } from "./typed_rating.js";

/** @import { ActionQueue } from "./action_queue.js" */
/** @import { Value } from "./labels.js" */
/** @import { SaveState } from "./review_client.js" */
/** @import { ReviewKeys } from "./review_focus_keys.js" */
/** @import { ReviewNote } from "./review_focus_note.js" */
/** @import { ReviewDocument, ReviewInfo } from "./review_panels.js" */

export class ReviewForm {
  /**
   * @param {ReviewInfo} info
   * @param {ReviewNote} note
   * @param {ReviewKeys} keys
   * @param {ActionQueue} queue
   * @param {object} options
   * @param {() => string[]} options.tags Return the error types.
   * @param {(item: string, value: Value) => void} options.onValue Change the document and draw it again.
   * @param {(tag: string) => void} options.onTag
   * @param {() => void} options.onFocus Called when another label of the same document has the focus.
   */
  constructor(info, note, keys, queue, { tags, onValue, onTag, onFocus }) {
    this.info = info;
    this.ids = [...info.labels.keys()];
    this.note = note;
    this.keys = keys;
    this.queue = queue;
    this.tags = tags;
    this.onValue = onValue;
    this.onTag = onTag;
    this.onFocus = onFocus;
    /** @type {ReviewDocument | null} */
    this.document = null;
    this.position = 0; // The focused label.
    this.drawnPosition = 0;
    this.problem = "";
    /** A rating that another digit may follow. @type {{ item: string, value: number } | null} */
    this.typed = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.saveState = el("span", { className: "save-state push tiny muted", role: "status" });
    this.node = el("section", "panel form");
  }

  /** The id of the focused label. */
  get focused() {
    return this.ids[this.position];
  }

  // Actions

  /** @param {number} step */
  moveFocus(step) {
    const { length } = this.ids;
    this.position = (this.position + step + length) % length;
    this.draw(this.document);
  }

  /** @param {number} digit */
  handleDigit(digit) {
    if (!this.document) return;
    if (this.info.kind === "rating") this.rateByDigit(digit);
    else if (digit === 0) this.setRestAbsent(this.document);
    else if (digit <= this.ids.length) {
      this.position = digit - 1;
      this.toggleFocused();
    }
  }

  toggleFocused() {
    const { info, focused } = this;
    if (info.kind === "choice") this.change("label", focused);
    else if (info.kind === "multilabel") this.change(focused, this.document?.values[focused] !== true);
  }

  /** @param {ReviewDocument} document */
  setRestAbsent({ values }) {
    if (this.info.kind !== "multilabel") return;
    for (const id of this.ids) if (isOpen(values[id])) this.change(id, false);
  }

  /**
   * Rate the focused dimension and go on to the next one, or wait while the scale allows another digit.
   *
   * @param {number} digit
   */
  rateByDigit(digit) {
    const { scales } = this.info;
    const { typed } = this;
    const follows = typed?.item === this.focused && addDigit(typed.value, digit, scales[typed.item]) !== null;
    if (!follows) this.finishRating(true); // this may move the focus
    const item = this.focused;
    const value = addDigit(this.typed?.value ?? 0, digit, scales[item]);
    if (value === null) return;
    this.typed = { item, value };
    if (isComplete(value, scales[item])) {
      this.finishRating(true);
      return;
    }
    this.showSaveState("idle", `Rating ${value} …`);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.queue.add(() => this.finishRating(true)), DIGITS_MS);
  }

  /** @param {boolean} [goesOn] Also move to the next dimension. */
  finishRating(goesOn = false) {
    const { typed, ids } = this;
    clearTimeout(this.timer);
    this.typed = null;
    if (!typed || typed.value < this.info.scales[typed.item].min) return;
    const place = ids.indexOf(typed.item);
    if (goesOn && place === this.position && place < ids.length - 1) this.position += 1;
    this.change(typed.item, typed.value);
  }

  /** @param {1 | -1} step */
  stepRating(step) {
    const { document, focused } = this;
    const scale = this.info.scales[focused];
    if (document && scale) this.change(focused, nextRating(document.values[focused], scale, step));
  }

  /** @param {string} item @param {Value} value */
  change(item, value) {
    this.problem = "";
    this.onValue(item, value);
  }

  /** Return true if all items are decided. Otherwise ask for the open ones. */
  checkDecided() {
    const { document, ids } = this;
    const { kind, labels } = this.info;
    const items = kind === "choice" ? ["label"] : ids;
    const open = items.filter((item) => isOpen(document?.values[item]));
    if (!open.length) return true;
    this.position = kind === "choice" ? 0 : ids.indexOf(open[0]);
    const names = kind === "choice" ? "a label" : open.map((item) => findLabel(labels, item).name).join(", ");
    const hint = kind === "multilabel" ? " Press 0 to set the rest to absent." : "";
    this.problem = `Decide ${names} first.${hint}`;
    this.draw(document);
    return false;
  }

  clearProblem() {
    this.problem = "";
  }

  // Drawing

  /** @param {Exclude<SaveState, "gone">} state @param {string} text */
  showSaveState(state, text) {
    const failed = state === "lost" || state === "refused";
    const tone = failed ? "wrong" : state === "saved" ? "right" : "muted";
    this.saveState.className = `save-state push tiny ${tone} ${state}`;
    const texts = { saved: `✓ ${text}`, saving: "Saving…", refused: "Not saved", idle: text, lost: text };
    setText(this.saveState, texts[state]);
    this.saveState.title = texts[state];
    if (state !== "refused") return;
    this.problem = text;
    this.draw(this.document);
  }

  /**
   * Return the position of the chosen label, or of the first present one where more labels than keys hide it.
   *
   * @param {ReviewDocument | null} document
   */
  firstPosition(document) {
    const { ids, info } = this;
    if (info.kind === "choice") return ids.indexOf(String(document?.values.label));
    if (info.kind === "rating" || ids.length < 10) return 0;
    return ids.findIndex((id) => document?.values[id] === true);
  }

  /** @param {ReviewDocument | null} document */
  draw(document) {
    const isAnother = document?.id !== this.document?.id;
    const { info, drawnPosition } = this;
    this.document = document;
    if (isAnother) this.position = Math.max(0, this.firstPosition(document));
    this.drawnPosition = this.position;
    if (!isAnother && this.position !== drawnPosition) this.onFocus();
    const title = el("h2", "", "Your verdict");
    if (!document) {
      this.node.replaceChildren(el("div", "panel-head", title, this.saveState));
      this.note.remove();
      return;
    }
    const field = focusedIn(this.node);
    if (field instanceof HTMLInputElement && !isAnother) {
      field.onblur = () => setTimeout(() => this.draw(this.document)); // The user types numbers until then.
      return;
    }
    const scrollTop = this.node.querySelector(".scroll")?.scrollTop ?? 0;
    const note = this.note.fieldOf(document);
    const wasInNote = field instanceof HTMLTextAreaElement;
    const rows = formRows(document, info, this.position, (item, value) => {
      const set = () => {
        if (this.document?.id !== document.id) return; // the click was on the form of an earlier document
        this.position = this.ids.indexOf(info.kind === "choice" ? String(value) : item);
        this.change(item, value);
      };
      if (focusedIn(this.node) instanceof HTMLInputElement) this.queue.add(set);
      else this.keys.press(set)();
    });
    const scroll = el(
      "div",
      "scroll",
      ...rows,
      roleLegend(document, info),
      el(
        "div",
        "part",
        el("h3", "row small secondary", "Error type", keyHint("E"), el("span", "muted tiny", "optional")),
        this.tagButtons(document),
      ),
      el("div", "part", el("h3", "row small secondary", "Note", keyHint("N")), note),
    );
    this.node.replaceChildren(
      el("div", "panel-head", title, el("span", "badge", document.status), this.saveState),
      scroll,
      ...(this.problem ? [el("div", "problem", this.problem)] : []), // not among the labels, which may hide it
      this.actionButtons(document),
    );
    scroll.scrollTop = scrollTop;
    if (wasInNote) note.focus();
    this.node.querySelector(".form-row.focused")?.scrollIntoView({ block: "nearest" });
  }

  /** @param {ReviewDocument} document */
  tagButtons({ tags }) {
    const pills = this.tags().map((name, index) => {
      const properties = { className: "pill", ariaPressed: String(tags.includes(name)) };
      return button(
        properties,
        this.keys.press(() => this.onTag(name)),
        name,
        keyHint(String(index + 1)),
      );
    });
    return el("div", "pills", ...pills);
  }

  /** @param {ReviewDocument} document */
  actionButtons(document) {
    const { keys } = this;
    const { flagged, status } = document;
    const flag = keys.button(flagged ? "ghost active" : "ghost", "Flag", "F");
    flag.ariaPressed = String(flagged);
    const more = [
      keys.button("ghost", "Undo", "U"),
      keys.button("ghost", "Redo", "Y"),
      flag,
      keys.button("ghost", "Skip", "S"),
      keys.button("ghost", isSettled(status) ? "Reopen" : "Discard", "D"),
    ];
    const main = keys.button("primary", isBlind(document) ? "Show verdict" : "Submit and continue", "Enter");
    return el("div", "actions", main, el("div", "more", ...more));
  }
}
