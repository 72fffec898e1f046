import assert from "node:assert/strict";
import { test } from "node:test";
import { texts } from "./dom.js";
import { Debate } from "../../app/components/debate_state.js";
import { DebateView } from "../../app/components/debate_view.js";
import { labelTable } from "../../app/components/label_table.js";
import { describeInputs } from "../../app/components/turn_view.js";
import { makeEvidence, makeRun, makeTurn, makeVerdict } from "./factories.js";

function makeView(kind) {
  return new DebateView(new Debate("d1", makeRun(kind)));
}

test("labels are disputed when replies differ", () => {
  const debate = new Debate("d1", makeRun());
  debate.addTurn(makeTurn(0, "extractor", { labels: ["a", "b"] }));
  debate.addTurn(makeTurn(1, "critic", { labels: null }));
  assert.deepEqual(debate.disputed, new Set());
  debate.addTurn(makeTurn(2, "judge", { labels: ["a"] }));
  assert.deepEqual(debate.disputed, new Set(["b"]));
});

test("a reply about one label disputes no other", () => {
  const debate = new Debate("d1", makeRun());
  debate.addTurn(makeTurn(0, "extractor", { item: "a", labels: ["a"], values: { a: true } }));
  debate.addTurn(makeTurn(1, "extractor", { item: "b", labels: [], values: { b: false } }));
  assert.deepEqual(debate.disputed, new Set());
});

test("ratings are disputed when they differ", () => {
  const debate = new Debate("d1", makeRun("rating"));
  debate.addTurn(makeTurn(0, "extractor", { values: { a: 3 } }));
  debate.addTurn(makeTurn(1, "judge", { values: { a: 4, b: 2 } }));
  assert.deepEqual(debate.disputed, new Set(["a"]));
});

test("text is appended, and replaced after a restart", () => {
  const view = makeView();
  const part = (text, fields) => view.showTurn(makeTurn(0, "extractor", { text, done: false, ...fields }));
  part("Hello **wor", { restart: true });
  part("ld** and\nmore");
  assert.deepEqual(texts(view.node, ".reply"), ["Hello world and\nmore"]);
  assert.deepEqual(texts(view.node, ".reply b"), ["world"]);
  assert.deepEqual(texts(view.node, ".turn-state"), ["speaking"]);
  part("Again", { restart: true });
  assert.deepEqual(texts(view.node, ".reply"), ["Again"]);
  part("", { done: true });
  assert.deepEqual(texts(view.node, ".turn-state"), []);
});

test("a reply in JSON is shown as data, also if it begins with a line break", () => {
  const view = makeView();
  const part = (text, fields) => view.showTurn(makeTurn(0, "extractor", { text, done: false, ...fields }));
  const isShownAsData = () => view.node.querySelector(".reply.data") !== null;
  part("\n", { restart: true });
  assert.ok(!isShownAsData());
  part('{"a": 1');
  part("}");
  assert.ok(isShownAsData());
  part("Again", { restart: true });
  assert.ok(!isShownAsData());
});

test("a role whose call failed is not speaking", () => {
  const view = makeView();
  view.showTurn(makeTurn(0, "extractor", { text: "", done: false, waiting: "server fault" }));
  assert.deepEqual(texts(view.node, ".turn-state"), ["server fault"]);
  assert.equal(view.node.querySelector(".turn.active, .caret:not(.hidden)"), null);
});

test("turns are in order, without hidden roles", () => {
  const view = makeView();
  view.hideRoles(["critic"]);
  view.showTurn(makeTurn(2, "judge", { restart: true }));
  view.showTurn(makeTurn(1, "critic", { restart: true }));
  view.showTurn(makeTurn(0, "extractor", { restart: true }));
  assert.deepEqual(texts(view.node, ".turn .role-name"), ["Extractor", "Critic", "Judge"]);
  assert.deepEqual(texts(view.node, ".turn:not(.hidden) .role-name"), ["Extractor", "Judge"]);
});

test("a decision shows kept, added and removed labels", () => {
  const view = makeView();
  view.showTurn(makeTurn(0, "extractor", { labels: ["a", "b"] }));
  view.showTurn(makeTurn(1, "critic", { labels: ["c", "a"] }));
  view.showTurn(makeTurn(2, "judge", { labels: [] }));
  assert.deepEqual(texts(view.node, ".decision"), [
    "assignsFoodService",
    "keepsFoodaddsPriceremovesService",
    "removesFoodServicePrice",
  ]);
});

test("quotes of earlier replies are marked after a later dispute", () => {
  const view = makeView();
  const text = 'Food: "good"';
  const evidence = [makeEvidence("a", "good", 0, text.indexOf("good"))];
  view.showTurn(makeTurn(0, "extractor", { text, labels: ["a"], evidence }));
  assert.equal(view.node.querySelectorAll(".evidence.disputed").length, 0);
  view.showTurn(makeTurn(1, "judge", { labels: [] }));
  assert.equal(view.node.querySelectorAll(".evidence.disputed").length, 1);
});

test("a decision on one label is compared with decisions on this label", () => {
  const view = makeView();
  const about = (item, ...labels) => ({ item, labels, values: { [item]: labels.length > 0 } });
  view.showTurn(makeTurn(0, "extractor", { labels: ["a", "c"] }));
  view.showTurn(makeTurn(1, "extractor", about("b", "b")));
  view.showTurn(makeTurn(2, "judge", about("a")));
  view.showTurn(makeTurn(3, "judge", about("b", "b")));
  assert.deepEqual(texts(view.node, ".decision"), ["assignsFoodPrice", "addsService", "removesFood", "decidesService"]);
});

test("replies without a quote of the label of a dispute are not drawn again", () => {
  const view = makeView();
  const evidence = [makeEvidence("a", "good", 0, 0)];
  view.showTurn(makeTurn(0, "extractor", { text: "good", labels: ["a", "b"], evidence }));
  const quote = view.node.querySelector(".quote");
  view.showTurn(makeTurn(1, "critic", { labels: ["a"] })); // disputes b
  assert.equal(view.node.querySelector(".quote"), quote);
  view.showTurn(makeTurn(2, "judge", { labels: [] })); // disputes a
  assert.ok(view.node.querySelector(".quote.disputed"));
});

test("a verdict shows the reasons of unresolved items", () => {
  const view = makeView();
  const reasons = { a: "no list", b: "no list" };
  view.showVerdict(makeVerdict({ status: "unresolved", reasons }));
  assert.equal(view.verdict.textContent, "unresolvedno list");
  view.showVerdict(makeVerdict({ status: "failed", error: "503" }));
  assert.equal(view.verdict.textContent, "failed503");
});

test("a verdict says that it has more reasons than it shows", () => {
  const view = makeView();
  const reasons = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x${index}`, `reason ${index}`]));
  view.showVerdict(makeVerdict({ status: "unresolved", reasons }));
  const shown = texts(view.verdict, ".tiny.unres");
  assert.deepEqual([shown.length, shown.at(-1)], [13, "and 8 more"]);
});

test("inputs of a turn are named", () => {
  const run = makeRun();
  const inputs = (role, ...from) => describeInputs(makeTurn(3, role, { replies_to: from }), run.roles);
  assert.equal(inputs("critic", "extractor"), "replies to Extractor");
  assert.equal(inputs("judge", "extractor", "critic"), "weighs both replies");
  assert.equal(inputs("critic", "critic"), "revises its own reply");
  assert.equal(inputs("critic"), "");
  assert.equal(inputs("x", "a", "b", "c"), "replies to A, B and C");
  assert.equal(inputs("x", "a", "b", "c", "d", "e"), "replies to 5 others");
});

test("the label table shows marks and evidence", () => {
  const run = makeRun();
  const debate = new Debate("d1", run);
  const evidence = [makeEvidence("a", "good", 0), makeEvidence("b", "gone", -1)];
  debate.addTurn(makeTurn(0, "extractor", { labels: ["a", "b"], evidence }));
  debate.addTurn(makeTurn(1, "judge", { labels: ["a", "b"] }));
  const cells = () => texts(labelTable(debate, run, new Set()), "tr td:last-child");
  assert.deepEqual(cells(), ["1 quote", "not in the text", ""]);
  debate.verdict = { values: { a: true, b: false, c: null } };
  assert.deepEqual(cells(), ["1 quote", "removed", "unresolved"]);
  debate.verdict = { status: "failed", values: { a: null, b: null, c: null } };
  assert.deepEqual(cells(), ["failed", "failed", "failed"]);
  assert.equal(labelTable(debate, run, new Set()).querySelectorAll("th .avatar").length, 2); // the critic assigned none
});

test("the label table shows what a role decided last on each label", () => {
  const run = makeRun("multilabel", ["extractor", "judge"]);
  const debate = new Debate("d1", run);
  debate.addTurn(makeTurn(0, "extractor", { labels: ["a", "c"] }));
  for (const [turn, item, values] of [
    [1, "a", { a: true }],
    [2, "b", { b: false }],
  ]) {
    const labels = values[item] ? [item] : [];
    debate.addTurn(makeTurn(turn, "judge", { item, labels, values }));
  }
  const marks = () =>
    [...labelTable(debate, run, new Set()).querySelectorAll(".mark")].map(({ className }) => className.split(" ")[1]);
  assert.deepEqual(marks(), ["present", "present", "absent", "absent", "present", "pending"]);
  const rated = new Debate("d1", makeRun("rating", ["judge"]));
  for (const [turn, item] of ["a", "b"].entries()) {
    rated.addTurn(makeTurn(turn, "judge", { item, values: { [item]: turn + 3 } }));
  }
  assert.deepEqual(texts(labelTable(rated, rated.run, new Set()), ".mark"), ["3", "4", "…"]);
});

test("the label table has the roles that assigned labels if there is no room for all roles", () => {
  const courtroom = ["magistrate", "prosecutor", "defender", "clerk", "judge_1", "judge_2", "judge_3"];
  const shown = (/** @type {Debate} */ debate) =>
    [...labelTable(debate, debate.run, new Set()).querySelectorAll("th .avatar")].map(({ title }) => title);
  const all = ["Magistrate", "Prosecutor", "Defender", "Clerk", "Judge 1", "Judge 2", "Judge 3"];
  assert.deepEqual(shown(new Debate("d1", makeRun("multilabel", courtroom))), all);
  const debate = new Debate("d1", makeRun("multilabel", [...courtroom, "judge_4"]));
  assert.deepEqual(shown(debate), all);
  for (const [turn, role] of ["magistrate", "judge_1", "judge_2", "judge_3", "judge_4"].entries()) {
    debate.addTurn(makeTurn(turn, role, { labels: ["a"] }));
  }
  assert.deepEqual(shown(debate), ["Magistrate", "Prosecutor", "Defender", "Judge 1", "Judge 2", "Judge 3", "Judge 4"]);
});

test("names outside the codebook are listed with the turn", () => {
  const view = makeView();
  view.showTurn(makeTurn(0, "extractor", { labels: ["a"], unknown: ["Parking", "View"] }));
  assert.deepEqual(texts(view.node, ".decision .unres"), ["not in codebook: Parking, View"]);
});

test("an unreadable decision names a label once", () => {
  const problem = (/** @type {string} */ name) => `the decision names what is not in the codebook: "${name}"`;
  const reasons = (/** @type {string} */ name) => {
    const view = makeView();
    view.showTurn(makeTurn(0, "extractor", { labels: [], unknown: [name], problem: problem(name) }));
    return texts(view.node, ".decision .tiny.unres");
  };
  assert.deepEqual(reasons("View"), [problem("View")]);
  assert.deepEqual(reasons("Food"), [problem("Food")]);
});
