import assert from "node:assert/strict";
import { test } from "node:test";
import { samplingOf } from "../../app/components/review_queue.js";

/** @returns {import("../../app/components/review_queue.js").QueuedDocument[]} */
const makeQueue = () =>
  [4, 3, 2, 1].map((remaining) => ({
    status: "Pending",
    skipped: false,
    sampling: { how: "drawn", probability: 1 / remaining, remaining, frame: 1 },
  }));

test("only the first waiting row was drawn, and the user picked any other one", () => {
  const rows = makeQueue();
  assert.deepEqual(
    rows.map((row) => samplingOf(rows, row)?.remaining),
    [4, undefined, undefined, undefined],
  );
  rows[0].status = "Submitted";
  rows[1].skipped = true;
  assert.deepEqual(
    rows.map((row) => samplingOf(rows, row)?.remaining),
    [undefined, undefined, 2, undefined],
  );
  assert.equal(samplingOf(rows, undefined), null);
});
