import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import {
  formatChange,
  formatCount,
  formatDate,
  formatDuration,
  formatMoney,
  formatPercent,
  formatPlural,
  formatPoints,
  formatRate,
  formatRating,
  formatScore,
} from "../../app/components/format.js";

const shared = { formatDuration, formatMoney, formatPercent, formatPoints, formatRate, formatRating, formatScore };

// tests/core/test_formatting.py checks the same cases against the Python functions.
const cases = JSON.parse(await readFile(new URL("format_cases.json", import.meta.url), "utf-8"));

for (const [name, rows] of Object.entries(cases)) {
  test(`${name} follows the rules of Python`, () => {
    for (const [value, text] of rows) assert.equal(shared[name](value), text, String(value));
  });
}

test("counts have separators, and nouns a plural", () => {
  assert.equal(formatCount(1234567), "1,234,567");
  assert.equal(formatPlural(1, "document"), "1 document");
  assert.equal(formatPlural(2000, "document"), "2,000 documents");
  assert.equal(formatPlural(0, "reply", "replies"), "0 replies");
});

test("an unsigned difference has no plus sign", () => {
  assert.equal(formatPoints(0.06, { signed: false }), "6.0");
  assert.equal(formatPoints(-0.06, { signed: false }), "−6.0");
});

test("changes of counts have a sign", () => {
  assert.deepEqual([3, -2000, 0].map(formatChange), ["+3", "−2,000", "0"]);
});

test("ratings have at most two decimals", () => {
  assert.deepEqual([3, 8 / 3, 2.5, "x"].map(formatRating), ["3", "2.67", "2.5", "x"]);
});

test("a time of another day is shown with its day", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: new Date(2026, 10, 30, 14, 0) });
  const days = (/** @type {number} */ count) => formatDate(new Date(2026, 10, 30 + count, 9, 5));
  assert.deepEqual([0, -1, 1, -5, 7, -40].map(days), [
    "09:05",
    "Sun 09:05",
    "Tue 09:05",
    "Wed 09:05",
    "7 Dec",
    "21 Oct",
  ]);
  assert.equal(days(-365), "30 Nov 2025");
});
