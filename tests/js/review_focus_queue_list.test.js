import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { countSettled, ReviewQueueList } from "../../app/components/review_focus_queue_list.js";

test("a row that was submitted after the studio listed it is not counted twice", () => {
  const rows = [
    { id: "d1", status: "Submitted" },
    { id: "d2", status: "Submitted" },
    { id: "d3", status: "Pending" },
  ];
  assert.equal(countSettled(rows, [{ id: "d2", status: "Pending" }]), 1);
});

/** A list of documents that wait. Returns the list and the sizes that it requests. */
function makeList(isOrdered = true, length = 300) {
  const waiting = Array.from({ length }, (_, index) => `d${index}`);
  /** @type {number[]} */
  const sizes = [];
  const query = async (/** @type {string} */ _, /** @type {any} */ { filters: { size } }) => {
    sizes.push(size);
    const more = { status: "Pending", skipped: false, reasons: [], text_start: "text", sampling: null };
    return {
      rows: waiting.slice(0, size).map((id) => ({ ...more, id })),
      total: waiting.length,
      queue_order: isOrdered,
    };
  };
  const list = new ReviewQueueList(/** @type {any} */ ({ query }), {
    filters: () => ({}),
    opener: () => () => {},
    emptyNode: () => null,
  });
  const submit = (/** @type {string} */ id) => {
    waiting.splice(waiting.indexOf(id), 1);
    list.setStatus(id, "Submitted");
  };
  return { list, sizes, submit };
}

test("loading the rows again does not load more of them, and submitted rows are not asked for", async () => {
  const { list, sizes, submit } = makeList();
  await list.load();
  for (let place = 0; place < 20; place += 1) {
    submit(`d${place}`);
    if (place % 5 === 4) await list.refresh();
  }
  assert.deepEqual(sizes, [50, 50, 50, 50, 50]);
  assert.equal(list.rows.length, 70); // 20 submitted, 50 that wait
  await list.load();
  assert.equal(sizes.at(-1), 100);
  assert.equal(list.rows.length, 120);
  assert.equal(list.count.textContent, "280 waiting");
});

test("a list of documents that match a filter reaches the last of thousands in few requests", async () => {
  const { list, sizes } = makeList(false, 6000);
  while ((await list.load()) > 0);
  assert.equal(list.rows.length, 6000);
  assert.deepEqual(sizes.slice(0, 4), [50, 100, 200, 400]);
  assert.ok(sizes.length < 10);
});

test("a change of the selected row leaves the other rows in their places", async () => {
  const { list, submit } = makeList();
  await list.load();
  list.select("d3");
  const nodes = [...list.list.children];
  const changes = new MutationObserver(() => {});
  changes.observe(list.list, { childList: true });
  submit("d3");
  list.select("d4");
  const moved = new Set(
    changes.takeRecords().flatMap(({ addedNodes, removedNodes }) => [...addedNodes, ...removedNodes]),
  );
  assert.deepEqual(
    nodes.filter((node) => moved.has(node)),
    nodes.slice(3, 5),
  );
  const selected = [...list.list.children].map((node) => node.classList.contains("selected"));
  assert.deepEqual([selected.length, selected.indexOf(true), selected.lastIndexOf(true)], [50, 4, 4]);
});
