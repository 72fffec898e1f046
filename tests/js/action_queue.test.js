import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { ActionQueue } from "../../app/components/action_queue.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("an action is performed at once if no other action is active", () => {
  const queue = new ActionQueue();
  const done = [];
  queue.add(() => done.push(1));
  queue.add(() => done.push(2));
  assert.deepEqual(done, [1, 2]);
  assert.equal(queue.busy, false);
});

test("each action waits for the promise of the previous action", async () => {
  const queue = new ActionQueue();
  const done = [];
  let finish;
  queue.add(() => new Promise((resolve) => (finish = resolve)).then(() => done.push("load")));
  queue.add(() => done.push(1));
  queue.add(() => done.push(2));
  await settled();
  assert.deepEqual([done, queue.busy], [[], true]);
  finish();
  await settled();
  assert.deepEqual([done, queue.busy], [["load", 1, 2], false]);
});

test("a failed action does not stop the others", async () => {
  const reported = mock.method(console, "error", () => {});
  const queue = new ActionQueue();
  const done = [];
  queue.add(() => Promise.reject(new Error("no")));
  queue.add(() => done.push(1));
  await settled();
  assert.deepEqual(done, [1]);
  assert.equal(reported.mock.callCount(), 1);
  reported.mock.restore();
});
