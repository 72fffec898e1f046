import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import * as format from "../../app/components/format.js";

// tests/core/test_formatting.py checks the same cases against the Python functions.
const cases = JSON.parse(await readFile(new URL("format_cases.json", import.meta.url), "utf-8"));

for (const [name, rows] of Object.entries(cases)) {
  test(`${name} follows the rules of Python`, () => {
    for (const [value, text] of rows) assert.equal(format[name](value), text, String(value));
  });
}

test("counts have separators, and nouns a plural", () => {
  assert.equal(format.formatCount(1234567), "1,234,567");
  assert.equal(format.formatPlural(1, "document"), "1 document");
  assert.equal(format.formatPlural(2000, "document"), "2,000 documents");
  assert.equal(format.formatPlural(0, "reply", "replies"), "0 replies");
});

test("an unsigned difference has no plus sign", () => {
  assert.equal(format.formatPoints(0.06, { signed: false }), "6.0");
  assert.equal(format.formatPoints(-0.06, { signed: false }), "−6.0");
});

test("changes of counts have a sign", () => {
  assert.deepEqual([3, -2000, 0].map(format.formatChange), ["+3", "−2,000", "0"]);
});

test("ratings have at most two decimals", () => {
  assert.deepEqual([3, 8 / 3, 2.5, "x"].map(format.formatRating), ["3", "2.67", "2.5", "x"]);
});

test("rates have a decimal below 10 only", () => {
  assert.deepEqual([0.26, 9.94, 12.6, 1234.4].map(format.formatRate), ["0.3", "9.9", "13", "1,234"]);
});
