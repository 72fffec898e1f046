import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { linesOf } from "../../app/components/flip_sankey.js";

test("a name that reaches its neighbours is broken after the role, and shortened where a line is too long", () => {
  assert.deepEqual(linesOf("General public, round 2", 300), ["General public, round 2"]);
  assert.deepEqual(linesOf("General public, round 2", 165), ["General public", "round 2"]);
  assert.deepEqual(linesOf("General public, round 2", 90), ["Genera…", "round 2"]);
});
