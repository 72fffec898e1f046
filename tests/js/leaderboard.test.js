import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import drawLeaderboard, { sortRuns } from "../../app/components/leaderboard.js";

/** @param {number | null} score @param {object} [more] */
const run = (score, more = {}) => ({
  id: String(score),
  name: `run ${score}`,
  tags: [],
  pinned: false,
  archived: false,
  interval: null,
  cells: { main: { parts: /** @type {[string, boolean][]} */ ([[String(score), false]]), value: score } },
  ...more,
});
const ids = (/** @type {{ id: string }[]} */ runs) => runs.map(({ id }) => id);

test("without an order, runs keep their sequence", () => {
  assert.deepEqual(ids(sortRuns([run(0.2), run(0.9)], null)), ["0.2", "0.9"]);
});

test("runs are sorted by a number in both directions, runs without a value last", () => {
  const runs = [run(0.2), run(null), run(0.9)];
  assert.deepEqual(ids(sortRuns(runs, { key: "main", descending: true })), ["0.9", "0.2", "null"]);
  assert.deepEqual(ids(sortRuns(runs, { key: "main", descending: false })), ["0.2", "0.9", "null"]);
});

test("pinned runs stay first", () => {
  const runs = [run(0.9), run(0.2, { pinned: true })];
  assert.deepEqual(ids(sortRuns(runs, { key: "main", descending: true })), ["0.2", "0.9"]);
});

test("runs are sorted by name", () => {
  assert.deepEqual(ids(sortRuns([run(0.9), run(0.2)], { key: "name", descending: false })), ["0.2", "0.9"]);
});

/** A table, and its selections as the page is told of them. */
function table() {
  const parentElement = document.createElement("div");
  parentElement.innerHTML = '<div class="moot"></div>';
  document.body.replaceChildren(parentElement);
  /** @type {any[]} */
  const told = [];
  const setStateValue = (/** @type {string} */ _, /** @type {any} */ value) => told.push(value);
  const draw = (/** @type {number[]} */ scores) => {
    const data = { runs: scores.map((score) => run(score)), columns: [], selected: [] };
    drawLeaderboard({ data, parentElement, setStateValue, setTriggerValue: setStateValue });
  };
  const boxes = () => /** @type {HTMLInputElement[]} */ ([...parentElement.querySelectorAll("td.check input")]);
  const name = () => /** @type {HTMLButtonElement} */ (parentElement.querySelector("button.name"));
  const nameField = () => /** @type {HTMLInputElement | null} */ (parentElement.querySelector("input.rename"));
  return { draw, told, boxes, name, nameField, ticked: () => boxes().map(({ checked }) => checked) };
}

test("lines of a setting break between its parts, which keep their commas", () => {
  const parentElement = document.createElement("div");
  parentElement.innerHTML = '<div class="moot"></div>';
  document.body.replaceChildren(parentElement);
  const models = {
    parts: /** @type {[string, boolean][]} */ ([
      ["gpt-4o-mini", true],
      ["word-list baseline", false],
    ]),
  };
  const runs = [run(0.2, { cells: { models: { ...models, value: null } } })];
  const columns = [{ key: "models", title: "Models", numeric: false }];
  const noAction = () => {};
  const data = { runs, columns, selected: [] };
  drawLeaderboard({ data, parentElement, setStateValue: noAction, setTriggerValue: noAction });
  const parts = [...parentElement.querySelectorAll(".part")].map((part) => [part.textContent, part.className]);
  assert.deepEqual(parts, [
    ["gpt-4o-mini,", "part differs"],
    ["word-list baseline", "part"],
  ]);
});

test("a run that was hidden for a while stays selected", () => {
  const { draw, told, boxes, ticked } = table();
  draw([0.2, 0.9]);
  boxes()[0].click();
  draw([0.9]);
  assert.deepEqual(ticked(), [false]);
  draw([0.2, 0.9]);
  assert.deepEqual(ticked(), [true, false]);
  boxes()[1].click();
  assert.deepEqual(told.at(-1), ["0.2", "0.9"]);
});

test("a click on a name opens the run, a double click renames it", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { draw, told, name, nameField } = table();
  draw([0.2]);
  const click = (/** @type {string} */ type, /** @type {number} */ detail) =>
    name().dispatchEvent(new window.MouseEvent(type, { detail }));
  click("click", 0); // by a key
  assert.deepEqual(told, ["0.2"]);
  click("click", 1);
  context.mock.timers.tick(500);
  assert.deepEqual(told, ["0.2", "0.2"]);
  click("click", 1);
  click("click", 2);
  click("dblclick", 2);
  context.mock.timers.tick(500);
  assert.deepEqual(told, ["0.2", "0.2"]);
  assert.ok(nameField());
});

test("each column has a name for screen readers", () => {
  table().draw([0.2]);
  const heads = [...document.querySelectorAll("th")];
  assert.deepEqual(
    heads.map((head) => head.ariaLabel || head.textContent?.trim()),
    ["Select", "Pin", "Name"],
  );
});

test("the Enter that ends an input method's composition does not end the renaming of a run", () => {
  const { draw, name, nameField } = table();
  draw([0.2]);
  name().dispatchEvent(new window.MouseEvent("dblclick"));
  const press = (/** @type {boolean} */ isComposing) =>
    nameField()?.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter", isComposing }));
  press(true);
  assert.ok(nameField());
  press(false);
  assert.equal(nameField(), null);
});

test("new rows wait until the user has typed the name of a run", () => {
  const { draw, told, name, nameField, boxes } = table();
  draw([0.2]);
  name().dispatchEvent(new window.MouseEvent("dblclick"));
  const field = nameField();
  field.value = "half a na";
  draw([0.2, 0.9]);
  assert.equal(nameField(), field); // another field would end the composition of an input method
  assert.equal(document.activeElement, field);
  field.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter" }));
  assert.equal(told.at(-1)[0].name, "half a na");
  assert.equal(boxes().length, 2);
  assert.equal(name().textContent, "half a na");
});

test("two presses of P pin a run and unpin it, also before the page has answered", () => {
  const { draw, told } = table();
  draw([0.2]);
  const row = /** @type {HTMLElement} */ (document.querySelector("tbody tr"));
  row.focus();
  for (const key of ["p", "з"]) // the second one on a Russian keyboard
    row.dispatchEvent(new window.KeyboardEvent("keydown", { key, code: "KeyP", bubbles: true }));
  assert.deepEqual(
    told.at(-1).map((/** @type {{ pinned: boolean }} */ { pinned }) => pinned),
    [true, false],
  );
});
