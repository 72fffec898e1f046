import assert from "node:assert/strict";
import { test } from "node:test";
import { ReviewDocuments } from "../../app/components/review_focus_documents.js";

/** Return documents, the state that the studio has stored of each one, and the ids that were requested. */
function makeDocuments() {
  const stored = { id: "d1", status: "Pending", values: { a: true }, flagged: false, tags: [], comment: "" };
  /** @type {string[]} */
  const requested = [];
  const query = async (/** @type {string} */ _, { document }) => {
    requested.push(document);
    return { document: structuredClone(stored) };
  };
  return { documents: new ReviewDocuments({ query }), stored, requested };
}

test("a document is requested once until it is removed", async () => {
  const { documents, requested } = makeDocuments();
  await Promise.all([documents.load("d1"), documents.load("d1")]);
  assert.deepEqual(requested, ["d1"]);
  documents.delete("d1");
  await documents.load("d1");
  assert.deepEqual(requested, ["d1", "d1"]);
});

test("a shown document is replaced only if it was changed elsewhere and not here meanwhile", async () => {
  const { documents, stored } = makeDocuments();
  const shown = await documents.load("d1");
  assert.equal(await documents.loadChanged(shown, () => true), null);
  stored.comment = "changed in another tab";
  assert.equal(await documents.loadChanged(shown, () => false), null);
  const answer = documents.loadChanged(shown, () => true);
  shown.flagged = true;
  assert.equal(await answer, null);
  assert.equal(await documents.load("d1"), shown);
  assert.equal((await documents.loadChanged(shown, () => true)).comment, "changed in another tab");
});

test("only the last documents stay in memory", async () => {
  /** @type {unknown[]} */
  const asked = [];
  const query = async (/** @type {string} */ _, /** @type {any} */ { document }) => {
    asked.push(document);
    return { document: { id: document } };
  };
  const documents = new ReviewDocuments({ query });
  for (let place = 0; place < 1000; place += 1) await documents.load(`d${place}`);
  assert.equal(documents.size, 100);
  assert.deepEqual(await documents.load("d900"), { id: "d900" });
  assert.equal(asked.length, 1000);
  await documents.load("d0");
  assert.equal(asked.length, 1001);
});
