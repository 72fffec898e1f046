// The note of a review. Its text stays while the document is loaded and drawn again.

import { el } from "./dom.js";
import { MAX_NOTE } from "./review_client.js";

/** @import { ReviewDocument } from "./review_panels.js" */

export class ReviewNote {
  /**
   * @param {object} options
   * @param {(text: string) => Promise<unknown>} options.save Resolves to null if the text was not saved.
   * @param {() => void} options.onLeave Called after the user has left the note by a key.
   */
  constructor({ save, onLeave }) {
    this.sendText = save;
    this.onLeave = onLeave;
    /** @type {HTMLTextAreaElement | null} */
    this.field = null;
    this.comment = ""; // The text that was stored or sent last.
    this.isOpen = false; // The user types into the note.
  }

  /**
   * Return the text area of a document; the same one for the same document, because the user may be typing. Its default
   * value is the stored comment: text that differs from the default value is not saved yet and is kept.
   *
   * @param {ReviewDocument} document
   */
  fieldOf({ id, comment }) {
    this.comment = comment;
    const { field } = this;
    if (field?.dataset.id === id) {
      if (field.value === field.defaultValue) field.value = comment;
      field.defaultValue = comment;
      return field;
    }
    this.isOpen = false;
    const created = el("textarea", {
      defaultValue: comment,
      maxLength: MAX_NOTE,
      placeholder: "Reason for your verdict",
      ariaLabel: "Note",
    });
    created.dataset.id = id;
    created.onfocus = () => {
      this.isOpen = true;
    };
    created.onblur = () => {
      this.isOpen = false;
      this.save();
    };
    created.onkeydown = (event) => {
      if (event.isComposing) return; // Escape or Enter ends the composition of an input method.
      const isDone = event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (isDone) event.preventDefault();
      if (isDone || event.key === "Escape") this.leave();
    };
    this.field = created;
    return created;
  }

  /** Remove the text area, because no document is shown. */
  remove() {
    this.field = null;
    this.isOpen = false;
  }

  /** Save the text if it was changed. */
  save() {
    const { field, comment } = this;
    if (!field || field.value === comment) return;
    const { value } = field;
    this.comment = value;
    this.sendText(value).then((answer) => {
      if (answer) field.defaultValue = value;
    });
  }

  enter() {
    this.isOpen = this.field !== null; // Also after the view was removed from the page, where nothing has the focus.
    this.field?.focus();
  }

  leave() {
    this.isOpen = false;
    this.field?.blur();
    this.onLeave();
  }

  /**
   * Handle a key that was pressed after the key that opened the note, but before the note had the focus.
   *
   * @param {string} key
   */
  type(key) {
    const { field } = this;
    if (!field) return;
    if (key === "Escape") this.leave();
    else if (key === "Backspace") field.value = [...field.value].slice(0, -1).join("");
    else if (key === "Enter") field.value += "\n";
    else if (key.length === 1) field.value += key;
  }
}
