import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { countSettled } from "../../app/components/review_queue_list.js";

test("a row that was submitted after the studio listed it is not counted twice", () => {
  const rows = [
    { id: "d1", status: "Submitted" },
    { id: "d2", status: "Submitted" },
    { id: "d3", status: "Pending" },
  ];
  assert.equal(countSettled(rows, [{ id: "d2", status: "Pending" }]), 1);
});
