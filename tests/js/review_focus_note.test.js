import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { ReviewNote } from "../../app/components/review_focus_note.js";

function makeNote(isSaved = true) {
  /** @type {string[]} */
  const sent = [];
  const save = async (/** @type {string} */ text) => {
    sent.push(text);
    return isSaved ? {} : null;
  };
  return { note: new ReviewNote({ save, onLeave: () => {} }), sent };
}

test("text that is not saved stays when the document is drawn again, and is sent again", async () => {
  const { note, sent } = makeNote(false);
  const field = note.fieldOf({ id: "d1", comment: "" });
  field.value = "unclear";
  note.save();
  note.save();
  assert.deepEqual(sent, ["unclear"]);
  await null;
  assert.equal(note.fieldOf({ id: "d1", comment: "" }), field);
  assert.equal(field.value, "unclear");
  note.save();
  assert.deepEqual(sent, ["unclear", "unclear"]);
});

test("text that was saved or not touched follows the stored comment", async () => {
  const { note } = makeNote();
  const field = note.fieldOf({ id: "d1", comment: "" });
  field.value = "unclear";
  note.save();
  await null;
  note.fieldOf({ id: "d1", comment: "from another tab" });
  assert.equal(field.value, "from another tab");
  assert.equal(note.fieldOf({ id: "d2", comment: "other" }).value, "other");
});

test("keys that follow the one that opens the note are typed into it", () => {
  const { note } = makeNote();
  note.enter();
  assert.equal(note.isOpen, false); // no document is shown
  const field = note.fieldOf({ id: "d1", comment: "" });
  note.enter();
  for (const key of ["a", "x", "Backspace", "Enter", "Shift", "b"]) note.type(key);
  assert.equal(field.value, "a\nb");
  field.value = "a😀";
  note.type("Backspace");
  assert.equal(field.value, "a");
  note.type("Escape");
  assert.equal(note.isOpen, false);
});

test("the Escape that ends an input method's composition does not leave the note", () => {
  const { note } = makeNote();
  const field = note.fieldOf({ id: "d1", comment: "" });
  document.body.append(field);
  note.enter();
  const press = (/** @type {boolean} */ isComposing) =>
    field.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", isComposing }));
  press(true);
  assert.equal(document.activeElement, field);
  press(false);
  assert.notEqual(document.activeElement, field);
});
