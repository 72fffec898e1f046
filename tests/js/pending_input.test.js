import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import "../../app/components/pending_input.js";

/** Return true if the browser asks before the tab is closed after an input in this field. */
function asksAfter(/** @type {string} */ field, /** @type {string[]} */ ...later) {
  document.body.innerHTML = field;
  const element = /** @type {HTMLElement} */ (document.body.firstElementChild);
  element.dispatchEvent(new window.Event("input", { bubbles: true }));
  for (const name of later) element.dispatchEvent(new window.Event(name, { bubbles: true }));
  const event = new window.Event("beforeunload", { cancelable: true });
  window.dispatchEvent(event);
  element.dispatchEvent(new window.Event("focusout", { bubbles: true }));
  return event.defaultPrevented;
}

test("the browser asks before typed text is lost", () => {
  assert.ok(asksAfter("<textarea></textarea>"));
  assert.ok(asksAfter("<input>"));
  assert.ok(asksAfter('<input type="number">'));
});

test("the browser does not ask after other inputs", () => {
  for (const type of ["checkbox", "radio", "file"]) assert.ok(!asksAfter(`<input type="${type}">`), type);
  assert.ok(!asksAfter('<input role="combobox">'));
});

test("the browser does not ask after the field has sent its text", () => {
  assert.ok(!asksAfter("<textarea></textarea>", "focusout"));
});
