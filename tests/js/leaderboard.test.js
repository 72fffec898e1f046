import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { sortRuns } from "../../app/components/leaderboard.js";

/** @param {number | null} score @param {object} [more] */
const run = (score, more = {}) => ({
  id: String(score),
  name: `run ${score}`,
  tags: [],
  pinned: false,
  archived: false,
  interval: null,
  cells: { main: { parts: /** @type {[string, boolean][]} */ ([[String(score), false]]), value: score } },
  ...more,
});
const ids = (/** @type {{ id: string }[]} */ runs) => runs.map(({ id }) => id);

test("without an order, runs keep their sequence", () => {
  assert.deepEqual(ids(sortRuns([run(0.2), run(0.9)], null)), ["0.2", "0.9"]);
});

test("runs are sorted by a number in both directions, runs without a value last", () => {
  const runs = [run(0.2), run(null), run(0.9)];
  assert.deepEqual(ids(sortRuns(runs, { key: "main", descending: true })), ["0.9", "0.2", "null"]);
  assert.deepEqual(ids(sortRuns(runs, { key: "main", descending: false })), ["0.2", "0.9", "null"]);
});

test("pinned runs stay first", () => {
  const runs = [run(0.9), run(0.2, { pinned: true })];
  assert.deepEqual(ids(sortRuns(runs, { key: "main", descending: true })), ["0.2", "0.9"]);
});

test("runs are sorted by name", () => {
  assert.deepEqual(ids(sortRuns([run(0.9), run(0.2)], { key: "name", descending: false })), ["0.2", "0.9"]);
});
