// The keys of Focus: their events, the buttons that show them, the line of keys and the help.

import { button, el, isTyping, keyHint, ownsKey, shortcutOf } from "./dom.js";
import { progressNodes } from "./review_panels.js";

/** @import { ActionQueue } from "./action_queue.js" */
/** @import { ReviewNote } from "./review_focus_note.js" */
/** @import { Progress, ReviewInfo } from "./review_panels.js" */

/** @typedef {Record<string, () => unknown>} KeyActions Actions by key; letters are lower case. */

const REPEATABLE = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
const SERIES_KEYS = ["Enter", "Escape", "Backspace"];
const DIGIT = /^[0-9]$/;

/**
 * Return the digits that change a label, and what they do.
 *
 * @param {Pick<ReviewInfo, "kind" | "labels" | "scales">} info
 * @param {string} focused The id of the focused label.
 */
export function digitRange({ kind, labels, scales }, focused) {
  if (kind !== "rating") {
    return { first: "1", last: String(Math.min(9, labels.size)), action: kind === "choice" ? "choose" : "toggle" };
  }
  const { min, max } = scales[focused] ?? { min: 0, max: 9 };
  return { first: String(Math.max(0, min)), last: String(Math.max(0, max)), action: "rate" };
}

/**
 * Return the lines of the help: keys and what they do with labels of this kind.
 *
 * @param {ReviewInfo["kind"]} kind
 * @param {ReturnType<typeof digitRange>} digits
 */
export function helpLines(kind, { first, last, action }) {
  const isRating = kind === "rating";
  /** @type {[hints: string[], text: string, isShown?: boolean][]} */
  const lines = [
    [["←", "→"], "previous, next document"],
    [["↑", "↓"], `previous, next ${isRating ? "dimension" : "label"}`],
    [[`${first}–${last}`], isRating ? "rate the focused dimension, go to the next" : `${action} a label`],
    [["−", "+"], "lower or raise the rating", isRating],
    [["Space"], `${action} the focused label`, !isRating],
    [["0"], "set the rest to absent", kind === "multilabel"],
    [["Enter"], "submit and continue"],
    [["U"], "undo (or Ctrl+Z)"],
    [["Y"], "redo (or Ctrl+Shift+Z)"],
    [["F"], "flag"],
    [["S"], "skip: move to the end"],
    [["D"], "discard, reopen"],
    [["B"], "blind: decide, then see the verdict"],
    [["Q"], "show or hide the queue"],
    [["T"], "transcript"],
    [["G"], "guideline"],
    [["H"], "history"],
    [["E"], "error type: then its digit"],
    [["N"], "write a note (Esc leaves)"],
    [["?"], "show or hide the keys"],
  ];
  return lines.filter(([, , isShown = true]) => isShown);
}

export class ReviewKeys {
  /**
   * @param {HTMLElement} root Takes the focus after a click.
   * @param {ReviewInfo} info
   * @param {ReviewNote} note
   * @param {ActionQueue} queue
   * @param {object} options
   * @param {KeyActions} options.actions
   * @param {(digit: number) => unknown} options.onDigit
   * @param {(digit: number) => unknown} options.onTagDigit Handle the digit of an error type, after the key E.
   * @param {() => void} options.endDigits Called before any other key.
   */
  constructor(root, info, note, queue, { actions, onDigit, onTagDigit, endDigits }) {
    this.root = root;
    this.info = info;
    this.note = note;
    this.queue = queue;
    /** @type {KeyActions} */
    this.actions = { ...actions, "?": () => this.openHelp() };
    this.onDigit = onDigit;
    this.onTagDigit = onTagDigit;
    this.endDigits = endDigits;
    this.picksTag = false; // The next digit sets an error type.
    this.waiting = 0; // Keys whose actions are not performed yet.
    this.focused = "";
    this.line = el("div", "keys row small secondary");
    this.help = el("div", { className: "help", popover: "auto", ariaLabel: "Keys" });
  }

  /**
   * Handle a key, but not while the user types, while a dialog of the page is open, or while the view is hidden. A key
   * that is pressed while the next document loads acts on that document.
   *
   * @param {KeyboardEvent} event
   */
  handle(event) {
    const { root, queue } = this;
    const source = event.composedPath()[0];
    if (event.defaultPrevented || !root.checkVisibility() || document.querySelector("[role='dialog']")) return;
    if (isTyping(source)) {
      const isNumber = source instanceof HTMLInputElement && root.contains(source);
      if (isNumber && ["Enter", "Escape"].includes(event.key)) root.focus();
      return;
    }
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const isText = isPlain && event.key.length === 1;
    // After a key that waits, keys are of the same series: a focused button does not take them.
    const follows = this.waiting > 0 && (isText || (isPlain && SERIES_KEYS.includes(event.key)));
    if (!follows && !(isText && queue.busy) && !this.actionOf(event, source)) return;
    event.preventDefault();
    // A button elsewhere, such as one of a menu that was closed, must not take an Enter that follows.
    if (isText && !(source instanceof Node && root.contains(source))) root.focus();
    if (event.repeat && !REPEATABLE.includes(event.key)) return;
    this.waiting += 1;
    queue.add(() =>
      this.perform(event, follows ? null : source).finally(() => {
        this.waiting -= 1;
      }),
    );
  }

  /**
   * Perform the action of a key, or type it into the note if a key before it has opened the note.
   *
   * @param {KeyboardEvent} event
   * @param {EventTarget | null} source
   */
  async perform(event, source) {
    if (this.note.isOpen) {
      this.note.type(event.key);
      return;
    }
    const action = this.actionOf(event, source);
    if (!DIGIT.test(shortcutOf(event))) this.endDigits();
    this.setPicksTag(false);
    await action?.();
  }

  /**
   * Return the action of a key, or null if it has none here.
   *
   * @param {KeyboardEvent} event
   * @param {EventTarget | null} source
   * @returns {(() => unknown) | null}
   */
  actionOf(event, source) {
    const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
    const control = ctrlKey || metaKey;
    const name = shortcutOf(event);
    if (control && name === "z") return this.actions[shiftKey ? "y" : "u"];
    if (control || altKey || ownsKey(source, key)) return null;
    if (this.help.matches(":popover-open")) return name === "?" ? () => this.help.hidePopover() : null;
    const { picksTag } = this;
    if (DIGIT.test(name)) return () => (picksTag ? this.onTagDigit(Number(name)) : this.onDigit(Number(name)));
    if (name === "Escape") return picksTag ? () => this.setPicksTag(false) : null;
    if (name === "e") return () => this.setPicksTag(!picksTag);
    return this.actions[name] ?? null;
  }

  /** @param {boolean} picksTag */
  setPicksTag(picksTag) {
    this.picksTag = picksTag;
    this.root.classList.toggle("picks-tag", picksTag);
  }

  /**
   * Return a listener for a button that moves the focus back, so that the keys work after a click.
   *
   * @param {() => unknown} action
   */
  press(action) {
    return () => {
      this.queue.add(action);
      this.root.focus();
    };
  }

  /**
   * Create a button that shows a key and performs its action.
   *
   * @param {string} className
   * @param {string} text
   * @param {string} key
   */
  button(className, text, key) {
    const action = this.actions[key.length === 1 ? key.toLowerCase() : key];
    return button(`button ${className}`, this.press(action), text, keyHint(key));
  }

  /**
   * Draw the line of the most important keys, with the progress at its end.
   *
   * @param {string} focused The id of the focused label.
   * @param {boolean} isBlind The verdict of the shown document is hidden.
   * @param {Progress | null} progress
   */
  draw(focused, isBlind, progress) {
    this.focused = focused;
    const { first, last, action } = digitRange(this.info, focused);
    const hasNegative = this.info.kind === "rating" && this.info.scales[focused]?.min < 0; // without digits for them
    const part = (/** @type {string[]} */ keys, /** @type {string} */ text) =>
      el("span", "", ...keys.map(keyHint), text);
    this.line.replaceChildren(
      part(["←", "→"], "document"),
      part(["↑", "↓"], this.info.kind === "rating" ? "dimension" : "label"),
      el("span", "", keyHint(first), "to ", keyHint(last), action),
      ...(hasNegative ? [part(["−", "+"], "lower, raise")] : []),
      part(["Enter"], isBlind ? "show verdict" : "submit"),
      this.button("ghost", "all keys", "?"),
      el("span", "row push", ...(progress ? progressNodes(progress) : [])),
    );
  }

  openHelp() {
    const lines = helpLines(this.info.kind, digitRange(this.info, this.focused));
    const list = lines.flatMap(([hints, text]) => [el("dt", "", ...hints.map(keyHint)), el("dd", "", text)]);
    const hide = this.press(() => this.help.hidePopover());
    const close = button("button ghost push", hide, "Close", keyHint("Esc"));
    this.help.replaceChildren(el("div", "row", el("h2", "", "Keys"), close), el("dl", "", ...list));
    this.help.showPopover();
  }
}
