import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import draw from "../../app/components/document_list.js";
import { noteShown } from "../../app/components/open_document.js";

function show(/** @type {string[]} */ ids) {
  const rows = ids.map((id) => ({ id, excerpt: `Text of ${id}` }));
  const data = { rows, title: "Id", note: "Text", heading: "", roles: [], listing: "Documents" };
  draw({ data, parentElement: document.querySelector("aside") });
  return [...document.querySelectorAll("button")];
}

function press(/** @type {string} */ key) {
  document.activeElement.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  return /** @type {HTMLElement} */ (document.activeElement).dataset.id;
}

test("the tab key reaches one document, and the arrow keys move between documents", () => {
  document.body.innerHTML = '<aside><div class="moot"></div></aside>';
  const buttons = show(["d1", "d2", "d3"]);
  assert.deepEqual(
    buttons.map(({ tabIndex }) => tabIndex),
    [0, -1, -1],
  );
  buttons[0].focus();
  assert.equal(press("ArrowUp"), "d1");
  assert.equal(press("ArrowDown"), "d2");
  assert.deepEqual(
    show(["d1", "d2"]).map(({ tabIndex }) => tabIndex),
    [-1, 0],
  );
});

test("lists mark the row of the shown document, and a list that was removed is forgotten", () => {
  document.body.innerHTML = '<aside><div class="moot"></div></aside>';
  const marked = (/** @type {Element} */ root) => root.querySelector("tr.selected")?.getAttribute("data-id");
  show(["d1", "d2"]);
  const [first] = document.body.children;
  noteShown("d1");
  assert.equal(marked(first), "d1");
  document.body.innerHTML = '<aside><div class="moot"></div></aside>';
  show(["d2", "d3"]);
  noteShown("d2");
  assert.equal(marked(document.body.children[0]), "d2");
  assert.equal(marked(first), "d1");
  noteShown(null);
  assert.equal(marked(document.body.children[0]), undefined);
});
