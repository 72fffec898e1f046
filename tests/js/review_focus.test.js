import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { countSettled } from "../../app/components/review_focus.js";
import { formRows } from "../../app/components/review_panels.js";
import { makeRun } from "./factories.js";

test("a row that was submitted after the studio listed it is not counted twice", () => {
  const rows = [
    { id: "d1", status: "Submitted" },
    { id: "d2", status: "Submitted" },
    { id: "d3", status: "Pending" },
  ];
  assert.equal(countSettled(rows, [{ id: "d2", status: "Pending" }]), 1);
});

test("labels of a failed debate ask for a decision and do not repeat the error", () => {
  const open = { a: null, b: null, c: null };
  const reasons = { a: "503", b: "503", c: "503" };
  const document = { values: open, verdict: open, unresolved: reasons, roles: {}, gold: {}, edited: [], outdated: [] };
  const remarks = (/** @type {string} */ error) =>
    formRows({ ...document, error }, makeRun(), 0, () => {}).map(
      (row) => row.querySelector(".remark.unres")?.textContent,
    );
  assert.deepEqual(remarks("503"), Array(3).fill("debate failed: please decide"));
  assert.deepEqual(remarks(""), ["503", "unresolved: please decide", "unresolved: please decide"]);
});
