import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import writeUrl from "../../app/components/url_parameters.js";

globalThis.history = window.history;

test("another project removes the document of the earlier project from the address", () => {
  const write = (/** @type {Record<string, string | null>} */ parameters) => {
    const data = { page: "evaluate", parameters };
    writeUrl({ data, parentElement: document.body, setStateValue: () => {}, setTriggerValue: () => {} });
    return location.search;
  };
  assert.equal(write({ project: "hotels" }), "?project=hotels");
  assert.equal(write({ document: "d1" }), "?project=hotels&document=d1");
  assert.equal(write({ project: "hotels" }), "?project=hotels&document=d1");
  assert.equal(write({ project: "news" }), "?project=news");
});
