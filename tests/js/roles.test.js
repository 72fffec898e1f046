import assert from "node:assert/strict";
import { test } from "node:test";
import { createRoles, findRole, humanize } from "../../app/components/roles.js";

const letters = (...names) =>
  [...createRoles(names.map((name) => ({ role: name, name, colour: "panelist" }))).values()].map(
    ({ letter }) => letter,
  );

test("names are derived from ids", () => {
  assert.equal(humanize("first_judge"), "First judge");
  assert.equal(createRoles([{ role: "critic", colour: "critic" }]).get("critic").name, "Critic");
});

test("roles with the same letter get a second character", () => {
  assert.deepEqual(letters("Extractor", "Critic", "Judge"), ["E", "C", "J"]);
  assert.deepEqual(letters("Judge 1", "Judge 2"), ["J1", "J2"]);
  assert.deepEqual(letters("Annotator A", "Annotator B"), ["A", "B"]);
  assert.deepEqual(letters("Clerk", "Critic"), ["Cl", "Cr"]);
  assert.deepEqual(letters("Panel guest", "Panel host"), ["PG", "PH"]);
  assert.deepEqual(letters("😀 Optimist", "🙁 Pessimist"), ["😀", "🙁"]);
  assert.deepEqual(letters("😀 🙁", "😀"), ["😀🙁", "😀"]);
});

test("an unknown role is added", () => {
  const roles = createRoles([]);
  assert.deepEqual(findRole(roles, "late_judge"), {
    role: "late_judge",
    name: "Late judge",
    colour: "panelist",
    letter: "L",
    group: "",
  });
  assert.equal(roles.size, 1);
});
