import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import "../../app/components/popover_focus.js";

const PAGE = `
  <button id="opener" data-testid="stPopoverButton" aria-expanded="true"></button><input id="next">
  <div data-testid="stPopoverBody"><button disabled></button><i tabindex="-1"></i><input id="field"><input id="last"></div>`;

/** Press Tab in an element, and return the id of the element that gets the focus instead of the browser's next one. */
function tab(/** @type {string} */ id, shiftKey = false) {
  const event = new window.KeyboardEvent("keydown", { key: "Tab", shiftKey, bubbles: true, cancelable: true });
  const element = /** @type {HTMLElement} */ (document.getElementById(id));
  element.focus();
  element.dispatchEvent(event);
  return event.defaultPrevented ? document.activeElement?.id : null;
}

test("Tab goes from the button of an open popover to its first field, and back", () => {
  document.body.innerHTML = PAGE;
  assert.equal(tab("opener"), "field");
  assert.equal(tab("field", true), "opener");
});

test("Tab keeps its way elsewhere", () => {
  document.body.innerHTML = PAGE;
  assert.equal(tab("opener", true), null);
  assert.equal(tab("field"), null);
  assert.equal(tab("last", true), null);
  assert.equal(tab("next"), null);
  document.getElementById("opener")?.setAttribute("aria-expanded", "false");
  assert.equal(tab("opener"), null);
});
