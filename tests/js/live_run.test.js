import assert from "node:assert/strict";
import { test } from "node:test";
import { texts } from "./dom.js";
import { DebateTiles } from "../../app/components/debate_tiles.js";
import { describeAgreement, protocolDiagram } from "../../app/components/protocol_diagram.js";
import { describeState, RunCounters } from "../../app/components/run_counters.js";
import { makeRun, makeStatus, makeTurn } from "./factories.js";

const SETTINGS = { state: "running", budget: null, explained: false };

function makeTile(id, fields = {}) {
  return {
    kind: "tile",
    document_id: id,
    progress: {},
    labels: [],
    role: "critic",
    tail: "",
    waiting: "",
    wait: 0,
    ...fields,
  };
}

function makeTiles(capacity, ...tiles) {
  const view = new DebateTiles(makeRun(), () => {});
  for (const tile of tiles) view.set(tile, capacity, null);
  return view;
}

test("a new debate replaces a finished one", () => {
  const tiles = makeTiles(2, makeTile("d1"), makeTile("d2"));
  tiles.set(makeTile("d1", { status: "verdict", values: {} }), 2, null);
  assert.deepEqual(tiles.ids, ["d1", "d2"]);
  tiles.set(makeTile("d3"), 2, null);
  assert.deepEqual(tiles.ids, ["d3", "d2"]);
});

test("the shown debate is replaced last", () => {
  const ended = { status: "verdict", values: {} };
  const tiles = makeTiles(2, makeTile("d1", ended), makeTile("d2", ended));
  tiles.set(makeTile("d3"), 2, "d1");
  assert.deepEqual(tiles.ids, ["d1", "d3"]);
});

test("running debates are shown beyond the capacity", () => {
  assert.deepEqual(makeTiles(1, makeTile("d1"), makeTile("d2")).ids, ["d1", "d2"]);
});

test("interrupted debates are removed", () => {
  const tiles = makeTiles(9, makeTile("d1"), makeTile("d2", { status: "failed" }), makeTile("d3"));
  tiles.removeUnfinished(new Set(["d3"]));
  assert.deepEqual(tiles.places, [null, "d2", "d3"]);
  tiles.set(makeTile("d4"), 9, null);
  assert.deepEqual(tiles.ids, ["d4", "d2", "d3"]);
});

test("the next debate has started and made the least progress", () => {
  const tiles = makeTiles(
    9,
    makeTile("late", { progress: { critic: 1 } }),
    makeTile("early", { progress: { critic: 0.2 } }),
    makeTile("silent"),
    makeTile("waiting", { progress: { critic: 0.1 }, waiting: "429", wait: 3 }),
  );
  assert.equal(tiles.next("d0"), "early");
  assert.equal(tiles.next("early"), "late");
  assert.equal(tiles.first(), "late");
});

test("tiles without a debate in progress are the latest debates", () => {
  const tiles = makeTiles(2, makeTile("d1", { status: "verdict", values: {} }), makeTile("d2"));
  assert.deepEqual(tiles.heading(1), { title: "In progress", count: 1 });
  tiles.set(makeTile("d2", { status: "failed" }), 2, null);
  assert.deepEqual(tiles.heading(0), { title: "Latest debates", count: 2 });
  assert.deepEqual(makeTiles(2).heading(0), { title: "In progress", count: 0 });
});

test("a tile describes its debate", ({ mock }) => {
  mock.method(performance, "now", () => 1000);
  const tiles = makeTiles(9);
  const describe = (fields, present = []) =>
    tiles.describe({ ...makeTile("d1", fields), ended: 0, until: 0 }, present).text;
  assert.equal(describe({ status: "verdict", values: { a: true } }, ["a"]), "decided, 1 label");
  assert.equal(describe({ status: "failed", reason: "503" }), "failed: 503");
  assert.equal(describe({ role: "" }), "");
  const waiting = { ...makeTile("d1", { waiting: "server fault, retrying" }), ended: 0 };
  assert.equal(tiles.describe({ ...waiting, until: 3500 }, []).text, "server fault, retrying in 3 s");
  assert.equal(tiles.describe({ ...waiting, until: 0 }, []).text, "server fault, retrying");
  assert.equal(describe({}), "reading");
  assert.equal(describe({ tail: "x".repeat(50) }).length, 43);
  assert.equal(describe({ tail: `${"😀".repeat(50)}x` }), `…${"😀".repeat(41)}x`);
});

test("counters show an unknown price", () => {
  const counters = new RunCounters();
  const status = makeStatus({ cost_usd: null });
  counters.addSample(status);
  counters.draw(status, SETTINGS);
  assert.deepEqual(texts(counters.node, ".counter-value"), [
    "5 of 10",
    "5 per min",
    "60 s",
    "Price unknown",
    "4 decided",
  ]);
});

test("the end of a run that takes days has its day", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: new Date(2026, 10, 30, 14, 5) });
  const counters = new RunCounters();
  const end = (/** @type {number} */ hours) => {
    const status = makeStatus({ eta_seconds: 3600 * hours });
    counters.addSample(status);
    counters.draw(status, SETTINGS);
    return counters.time.detail.textContent;
  };
  assert.equal(end(2), "done at about 16:05");
  assert.equal(end(30), "done at about Tue 20:05");
});

test("the counter of documents explains the part of the bar that is in progress", () => {
  const counters = new RunCounters();
  const status = makeStatus();
  counters.addSample(status);
  counters.draw(status, SETTINGS);
  assert.equal(counters.documents.detail.textContent, "2 in progress, 3 waiting");
  assert.ok(counters.documents.detail.querySelector(".in-flight"));
  counters.draw(makeStatus({ state: "done" }), SETTINGS);
  assert.equal(counters.documents.detail.textContent, "");
});

test("counters show the mean rate of a finished run and none of a paused one", () => {
  const counters = new RunCounters();
  const done = makeStatus({ state: "done", seconds: 120, calls: 12, cached_calls: 3 });
  counters.addSample(done);
  counters.draw(done, SETTINGS);
  assert.deepEqual(
    [counters.rate.value.textContent, counters.rate.detail.textContent],
    ["2.5 per min", "7.5 calls per min"],
  );
  counters.draw(makeStatus({ state: "paused" }), SETTINGS);
  assert.equal(counters.rate.detail.textContent, "");
});

test("reused calls count in the rate of calls from the first status on", ({ mock }) => {
  let now = 0;
  mock.method(performance, "now", () => now);
  const counters = new RunCounters();
  const rateAfter = (/** @type {number} */ seconds) => {
    now = 1000 * seconds;
    const status = makeStatus({ seconds: 60 + seconds, calls: 0, cached_calls: 600 + 10 * seconds });
    counters.addSample(status);
    counters.draw(status, SETTINGS);
    return counters.rate.detail.textContent;
  };
  assert.equal(rateAfter(0), "600 calls per min");
  assert.equal(rateAfter(30), "600 calls per min");
});

test("counters project the cost", () => {
  const counters = new RunCounters();
  const status = makeStatus();
  counters.addSample(status);
  counters.draw(status, SETTINGS);
  // 5 of 10 have ended, and half of the calls of the 2 in progress are counted as paid: 0.50 / 6 * 10
  assert.equal(counters.cost.value.textContent, "$0.50 so far$0.83 projected");
  assert.equal(counters.cost.detail.textContent, "12 paid calls, 3 reused");
  counters.draw(makeStatus({ estimated_calls: 1 }), SETTINGS);
  assert.equal(counters.cost.value.textContent, "about $0.50 so far$0.83 projected");
  counters.draw(makeStatus({ calls: 0, cached_calls: 0, cost_usd: 0.01 }), SETTINGS);
  assert.equal(counters.cost.detail.textContent, "billed without a reply, 0 reused");
});

test("a free or finished run without a budget has no cost bar", () => {
  const counters = new RunCounters();
  const status = makeStatus({ cost_usd: 0 });
  counters.addSample(status);
  counters.draw(status, SETTINGS);
  assert.ok(counters.costBar.classList.contains("hidden"));
  counters.draw(makeStatus({ state: "done", cost_usd: 1 }), SETTINGS);
  assert.ok(counters.costBar.classList.contains("hidden"));
  assert.ok(!counters.node.classList.contains("free"));
  counters.draw(makeStatus({ state: "done", cost_usd: 0, calls: 9 }), SETTINGS);
  assert.ok(counters.node.classList.contains("free"));
  counters.draw(status, { ...SETTINGS, budget: 2 });
  assert.ok(!counters.costBar.classList.contains("hidden"));
});

test("the notice explains why a run is not active", () => {
  assert.equal(describeState(makeStatus(), SETTINGS), null);
  assert.equal(
    describeState(makeStatus({ state: "paused", message: "Budget spent." }), SETTINGS).text,
    "Budget spent.",
  );
  const byUser = describeState(makeStatus({ state: "paused", message: "You paused it.", stop_code: "user" }), SETTINGS);
  assert.ok(byUser.text.startsWith("All replies so far are stored."));
  assert.equal(describeState(makeStatus({ state: "paused" }), { ...SETTINGS, state: "paused", explained: true }), null);
  assert.equal(describeState(makeStatus({ state: "done" }), SETTINGS).tone, "ok");
  const failed = describeState(makeStatus({ state: "done", failed: 1 }), SETTINGS);
  assert.equal(failed.tone, "warn");
  assert.equal(
    failed.text,
    "4 verdicts, 1 unresolved, 1 failed. Retry the failed ones. Decide the unresolved ones in Review.",
  );
  const undecided = describeState(makeStatus({ state: "done", verdicts: 0, unresolved: 6 }), SETTINGS);
  assert.equal(undecided.text, "0 verdicts, 6 unresolved, 0 failed. The next step in the sidebar says what to change.");
});

test("votes agree, or are counted", () => {
  const votes = (...lists) => lists.map((labels, index) => makeTurn(index, `panelist_${index}`, { labels }));
  assert.equal(describeAgreement(votes(["a"], ["a"]), "multilabel").text, "all agree");
  assert.equal(describeAgreement(votes(["a", "b"], ["b", "a"], []), "multilabel").text, "2 to 1");
  assert.equal(describeAgreement(votes(["a"], null), "multilabel").text, "");
});

test("a round table has a row per round", () => {
  const run = makeRun("multilabel", ["p1", "p2"]);
  const turns = [0, 1].flatMap((round) =>
    ["p1", "p2"].map((role, index) => makeTurn(2 * round + index, role, { round, labels: ["a"] })),
  );
  const rows = protocolDiagram("round", turns, run);
  assert.deepEqual(
    rows.flatMap((row) => texts(row, ".diagram-name")),
    ["Alone", "Round 1"],
  );
  assert.deepEqual(
    rows.flatMap((row) => texts(row, ".push")),
    ["all agree", "all agree"],
  );
});
