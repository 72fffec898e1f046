// Tests of the bridge between components and Streamlit.

import "./dom.js";

import assert from "node:assert/strict";
import { test } from "node:test";

import { mountView } from "../../app/components/streamlit_bridge.js";

/** Count what happens to views of a component. */
function makeComponent() {
  document.body.innerHTML = '<div id="component"><div class="moot"></div></div>';
  const parentElement = document.querySelector("#component");
  const count = { created: 0, updated: 0, destroyed: 0 };
  const create = () => {
    count.created += 1;
    return {
      update() {
        count.updated += 1;
      },
      destroy() {
        count.destroyed += 1;
      },
    };
  };
  /** @param {unknown} key */
  const draw = (key) => mountView({ parentElement }, key, create);
  return { parentElement, count, draw };
}

test("a view is kept while its key is the same, and replaced when the key changes", () => {
  const { count, draw } = makeComponent();
  draw(["r1"]);
  draw(["r1"]);
  assert.deepEqual(count, { created: 1, updated: 2, destroyed: 0 });
  draw(["r2"]);
  assert.deepEqual(count, { created: 2, updated: 3, destroyed: 1 });
});

test("a view in use survives the end of an earlier drawing, and is destroyed once it was removed", () => {
  const { parentElement, count, draw } = makeComponent();
  const endEarlier = draw("run");
  const end = draw("run");
  endEarlier();
  assert.equal(count.destroyed, 0);
  parentElement.remove();
  end();
  endEarlier();
  assert.equal(count.destroyed, 1);
});
