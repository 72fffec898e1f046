import assert from "node:assert/strict";
import { test } from "node:test";
import { addDigit, isComplete, nextRating } from "../../app/components/typed_rating.js";

test("a digit follows those before it as far as the scale allows it", () => {
  for (const [before, digit, max, expected] of [
    [0, 7, 100, 7],
    [7, 5, 100, 75],
    [75, 6, 100, null],
    [10, 0, 100, 100],
    [0, 7, 5, null],
    [1, 2, 12, 12],
    [1, 3, 12, null],
  ]) {
    assert.equal(addDigit(before, digit, { min: 0, max }), expected);
  }
  assert.equal(addDigit(0, 3, undefined), null);
});

test("a number is complete if it is zero or if another digit exceeds the scale", () => {
  for (const [value, max, expected] of [
    [0, 100, true],
    [10, 100, false],
    [11, 100, true],
    [1, 10, false],
    [2, 10, true],
  ]) {
    assert.equal(isComplete(value, { min: 0, max }), expected);
  }
});

test("a step changes a rating within its scale, and begins at an end of the scale", () => {
  for (const [value, step, expected] of [
    [null, 1, 1],
    [null, -1, 5],
    [3, 1, 4],
    [5, 1, 5],
    [1, -1, 1],
    [2.5, 1, 3],
    [2.5, -1, 2],
  ]) {
    assert.equal(nextRating(value, { min: 1, max: 5 }, step), expected);
  }
});
