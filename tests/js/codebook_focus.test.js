import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import "./dom.js";
import "../../app/components/codebook_focus.js";

const PAGE = `
  <div class="st-key-label-add"><button></button></div>
  <div class="st-key-label-delete"><button></button></div>
  <div class="st-key-codebook-save"><button></button></div>
  <div id="field" class="st-key-codebook-label-name-a"><input value="New label"></div>`;

/** Click the button with this key; by default with the keyboard. */
function click(/** @type {string} */ key, detail = 0) {
  const button = /** @type {HTMLElement} */ (document.querySelector(`.st-key-${key} button`));
  button.focus();
  button.dispatchEvent(new window.MouseEvent("click", { bubbles: true, detail }));
  return button;
}

/** Draw the fields of another label. */
function drawOtherLabel() {
  const field = /** @type {HTMLElement} */ (document.getElementById("field"));
  field.className = "st-key-codebook-label-name-b";
  mock.timers.tick(200);
}

const focused = () => document.activeElement?.tagName;

beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  window.dispatchEvent(new window.KeyboardEvent("keydown")); // the wait of the earlier test ends
  document.body.innerHTML = PAGE;
});
afterEach(() => mock.timers.reset());

test("the name of a new label has the focus once its field is drawn", () => {
  const button = click("label-add", 1);
  mock.timers.tick(200);
  assert.equal(document.activeElement, button);
  drawOtherLabel();
  assert.equal(focused(), "INPUT");
});

test("the name of a new label is selected once the field has it", () => {
  const field = /** @type {HTMLInputElement} */ (document.querySelector("#field input"));
  field.value = "";
  click("label-add", 1);
  drawOtherLabel();
  field.value = "New label";
  mock.timers.tick(200);
  assert.deepEqual([field.selectionStart, field.selectionEnd], [0, 9]);
});

test("after a deletion by keyboard, the name of the label that is shown has the focus", () => {
  click("label-delete").remove();
  mock.timers.tick(200);
  assert.equal(focused(), "BODY");
  drawOtherLabel();
  assert.equal(focused(), "INPUT");
});

test("after a save by keyboard, the focus moves as soon as the button loses it", () => {
  const button = click("codebook-save");
  mock.timers.tick(200);
  assert.equal(document.activeElement, button);
  button.blur();
  mock.timers.tick(200);
  assert.equal(focused(), "INPUT");
});

test("a field that is drawn again has the focus again, until the user presses a key", () => {
  click("label-add", 1);
  drawOtherLabel();
  const blur = () => /** @type {HTMLElement} */ (document.activeElement).blur();
  blur();
  mock.timers.tick(200);
  assert.equal(focused(), "INPUT");
  window.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Tab" }));
  blur();
  mock.timers.tick(200);
  assert.equal(focused(), "BODY");
});

test("a click of the mouse on Save or Delete leaves the focus where it is", () => {
  for (const key of ["codebook-save", "label-delete"]) {
    click(key, 1).blur();
    drawOtherLabel();
    assert.equal(focused(), "BODY");
  }
});
