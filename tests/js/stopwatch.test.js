import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Stopwatch } from "../../app/components/stopwatch.js";

test("time without user activity counts for at most a minute", () => {
  let now = 1000;
  mock.method(performance, "now", () => now);
  const stopwatch = new Stopwatch();
  now += 5000;
  assert.equal(stopwatch.seconds, 5);
  stopwatch.noteActivity();
  now += 600_000; // a break
  assert.equal(stopwatch.seconds, 65);
  stopwatch.noteActivity();
  now += 2000;
  assert.equal(stopwatch.seconds, 67);
  stopwatch.restart();
  assert.equal(stopwatch.seconds, 0.1);
});
