import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import draw from "../../app/components/page_observer.js";

window.matchMedia = () => new window.EventTarget();
globalThis.matchMedia = window.matchMedia;

test("a new page begins at its top, and a rerun keeps the position", () => {
  document.body.innerHTML = '<main data-testid="stMain"></main><aside><div class="moot"></div></aside>';
  const main = document.querySelector("main");
  const show = (/** @type {string} */ data) => draw({ data, parentElement: document.querySelector("aside") });
  show("codebook");
  main.scrollTop = 600;
  show("codebook");
  assert.equal(main.scrollTop, 600);
  show("run");
  assert.equal(main.scrollTop, 0);
});
