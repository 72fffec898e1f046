import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { compactValues, createLabels, disputedItems, findLabel, presentLabels } from "../../app/components/labels.js";
import { LABELS } from "./factories.js";

test("the first nine labels have keys", () => {
  const many = createLabels(Array.from({ length: 10 }, (_, index) => ({ id: String(index), name: "x", colour: 1 })));
  assert.deepEqual([many.get("8").digit, many.get("9").digit], ["9", ""]);
});

test("a label outside the codebook has no colour and is named as unknown", () => {
  const { name, colour } = findLabel(createLabels(LABELS), "gone");
  assert.deepEqual([name, colour], ["not in codebook: gone", 0]);
});

test("labels are present by kind of codebook", () => {
  const labels = createLabels(LABELS);
  assert.deepEqual(presentLabels({ a: true, b: false, c: null }, "multilabel", labels), ["a"]);
  assert.deepEqual(presentLabels({ label: "b" }, "choice", labels), ["b"]);
  assert.deepEqual(presentLabels({ label: null }, "choice", labels), []);
  assert.deepEqual(presentLabels({ a: 3, b: null }, "rating", labels), ["a"]);
  assert.deepEqual(presentLabels(null, "multilabel", labels), []);
});

test("labels are present in the order of the codebook, also if an id is a number", () => {
  const labels = createLabels([...LABELS, { id: "41732890", name: "View", colour: 4 }]);
  assert.deepEqual(presentLabels({ a: true, c: true, 41732890: true }, "multilabel", labels), ["a", "c", "41732890"]);
});

test("ratings are shown in the order of the codebook", () => {
  const [node] = compactValues(["c", "a"], { c: 2.5, a: 4 }, createLabels(LABELS), "rating");
  assert.equal(node.textContent, "4 – 2.5");
});

test("ratings that do not fit into a line are cut, and complete in the tooltip", () => {
  const [node] = compactValues(["c", "a"], { c: 2.5, a: 4 }, createLabels(LABELS), "rating");
  assert.match(node.className, /\bellipsis\b/);
  assert.equal(node.title, "4 – 2.5");
});

test("items are disputed if opinions differ", () => {
  const opinions = [
    { a: true, b: false, d: null },
    { a: true, b: true },
    { c: 1, d: true },
  ];
  assert.deepEqual(disputedItems(opinions), new Set(["b"]));
});
