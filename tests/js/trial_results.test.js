import assert from "node:assert/strict";
import { test } from "node:test";
import { texts } from "./dom.js";
import draw from "../../app/components/trial_results.js";

function showPlot(/** @type {any[]} */ changes) {
  document.body.innerHTML = '<aside><div class="moot"></div></aside>';
  const labels = changes.map(({ name }) => ({ id: name, name, colour: 1, code: "" }));
  const counts = { regressed: 0, mixed: 0, corrected: 0, changed: 0, wrong: 0, same: 1 };
  const words = { sentence: "", note: "", warning: "", metric: "Change in F1, points" };
  const data = { ...words, counts, rows: [], kind: "multilabel", labels, score_changes: changes };
  draw({ data, parentElement: document.querySelector("aside") });
  return texts(document, ".score-change:not(.axis)");
}

const KNOWN = { name: "Price", colour: 1, clear: true, value: 0.1, low: 0.05, high: 0.2 };
const UNKNOWN = { name: "Staff", colour: 2, clear: false, value: null, low: null, high: null };

test("labels without a score are listed with the others", () => {
  const [price, staff] = showPlot([KNOWN, UNKNOWN]);
  assert.match(price, /Price.*\+10/);
  assert.match(staff, /Staff.*no value/);
});

test("without any score there is no plot", () => {
  assert.deepEqual(showPlot([UNKNOWN]), []);
});
