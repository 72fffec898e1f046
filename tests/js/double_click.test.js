import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import "../../app/components/double_click.js";

/** Return the number of clicks that a button receives. */
function received(/** @type {string} */ key, /** @type {number[]} */ details) {
  document.body.innerHTML = `<div class="${key}"><button><p>Act</p></button></div>`;
  let count = 0;
  document.querySelector("button")?.addEventListener("click", () => (count += 1));
  const text = document.querySelector("p");
  for (const detail of details) text?.dispatchEvent(new window.MouseEvent("click", { bubbles: true, detail }));
  return count;
}

test("the second click of a double click does not add again", () => {
  for (const key of ["st-key-label-add", "st-key-icon-persona-add-1"]) assert.equal(received(key, [1, 2]), 1);
});

test("deliberate clicks, keys and clicks on other buttons count", () => {
  assert.equal(received("st-key-label-add", [1, 1, 1]), 3);
  assert.equal(received("st-key-label-add", [0, 0]), 2);
  assert.equal(received("st-key-label-add", [1, 2, 3, 4]), 2);
  assert.equal(received("st-key-review-undo", [1, 2, 3]), 3); // fast clicks undo several actions, as in an editor
});
