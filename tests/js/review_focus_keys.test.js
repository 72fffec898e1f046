import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { digitRange, helpLines, ReviewKeys } from "../../app/components/review_focus_keys.js";
import { makeRun } from "./factories.js";

test("the digits are those of the labels, or of the scale of the focused dimension", () => {
  const scales = { a: { min: -2, max: 7 } };
  for (const [kind, focused, expected] of [
    ["multilabel", "a", { first: "1", last: "3", action: "toggle" }],
    ["choice", "a", { first: "1", last: "3", action: "choose" }],
    ["rating", "a", { first: "0", last: "7", action: "rate" }],
    ["rating", "b", { first: "0", last: "9", action: "rate" }],
  ]) {
    assert.deepEqual(digitRange({ ...makeRun(kind), scales }, focused), expected);
  }
});

test("the help says what a digit and the space bar do with labels of the kind", () => {
  const digits = { first: "1", last: "5", action: "choose" };
  const texts = (/** @type {"choice" | "rating"} */ kind) => helpLines(kind, digits).map(([, text]) => text);
  assert.deepEqual(texts("choice").slice(1, 4), ["previous, next label", "choose a label", "choose the focused label"]);
  const rating = [
    "previous, next dimension",
    "rate the focused dimension, go to the next",
    "lower or raise the rating",
  ];
  assert.deepEqual(texts("rating").slice(1, 4), rating);
});

test("the line of keys shows how to give a rating below zero", () => {
  const scales = { a: { min: -1, max: 1 }, b: { min: 0, max: 2 } };
  const options = { actions: {}, onDigit() {}, onTagDigit() {}, endDigits() {} };
  const root = document.createElement("div");
  const keys = new ReviewKeys(
    root,
    { ...makeRun("rating"), scales },
    /** @type {any} */ ({}),
    /** @type {any} */ ({}),
    options,
  );
  keys.draw("a", false, null);
  assert.match(keys.line.textContent, /0to 1rate−\+lower, raise/);
  keys.draw("b", false, null);
  assert.match(keys.line.textContent, /0to 2rateEnter/);
});
