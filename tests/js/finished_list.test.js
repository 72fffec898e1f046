import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { FinishedList } from "../../app/components/finished_list.js";
import { makeRun } from "./factories.js";

test("an empty list says whether a search or a status excludes all debates", () => {
  const list = new FinishedList(makeRun(), { onQuery: () => {}, onPick: () => {} });
  const shown = (/** @type {string} */ query, /** @type {string} */ status) => {
    list.show({ kind: "finished_page", query, status, offset: 0, total: 0, rows: [] });
    return list.rows.textContent;
  };
  assert.equal(shown("", ""), "No debate has finished yet.");
  assert.equal(shown("soup", ""), "No finished debate matches.");
  assert.equal(shown("", "failed"), "No finished debate matches.");
});

test("the answer to an earlier request does not undo a search", () => {
  /** @type {string[]} */
  const queries = [];
  const list = new FinishedList(makeRun(), { onQuery: ({ query }) => queries.push(query), onPick: () => {} });
  list.request();
  list.request({ query: "soup" });
  list.show({ type: "finished", query: "", status: "", offset: 0, total: 0, rows: [] });
  list.request(); // as the view does every few seconds
  assert.deepEqual(queries, ["", "soup", "soup"]);
});
