import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import "./dom.js";
import {
  collectState,
  drawDecision,
  fitColumns,
  getValue,
  handleKey,
  keepFocus,
  noteFocus,
  setValue,
  shouldReturn,
  start,
} from "../../app/components/review_grid.js";

/** Columns with these widths by id, and the ids of the visible ones after they were fitted to a width. */
function fit(
  /** @type {Record<string, number>} */ widths,
  /** @type {string[]} */ optional,
  /** @type {number} */ width,
) {
  document.body.innerHTML = '<div class="ag-root"></div>';
  Object.defineProperty(document.querySelector(".ag-root"), "clientWidth", { value: width });
  const visible = new Set(Object.keys(widths));
  const columns = Object.keys(widths).map((id) => ({
    getColId: () => id,
    getColDef: () => ({ flex: id === "_text" ? 1 : 0 }),
    getMinWidth: () => widths[id],
    getActualWidth: () => widths[id],
    isVisible: () => visible.has(id),
  }));
  const api = {
    getColumns: () => columns,
    getColumn: (/** @type {string} */ id) => columns.find((column) => column.getColId() === id),
    getGridOption: () => ({ optional }),
    getFocusedCell: () => null,
    setColumnsVisible: (/** @type {string[]} */ ids, /** @type {boolean} */ shown) => {
      for (const id of ids) shown ? visible.add(id) : visible.delete(id);
    },
  };
  fitColumns(/** @type {any} */ ({ api }));
  return [...visible];
}

test("optional columns are hidden one by one until the rows fit", () => {
  const widths = { _text: 100, gold: 60, _quotes: 70, r_judge: 70 };
  const optional = ["_quotes", "r_judge", "gold"];
  assert.deepEqual(fit(widths, optional, 320), ["_text", "gold", "_quotes", "r_judge"]);
  assert.deepEqual(fit(widths, optional, 300), ["_text", "gold", "r_judge"]);
  assert.deepEqual(fit(widths, optional, 180), ["_text", "gold"]);
  assert.deepEqual(fit(widths, optional, 100), ["_text"]);
  assert.deepEqual(fit(widths, ["_quotes"], 100), ["_text", "gold", "r_judge"]);
});

test("a cell without a value does not call a hidden verdict unresolved", () => {
  const node = document.createElement("span");
  drawDecision(node, /** @type {any} */ ({ api: { getGridOption: () => ({ label_names: {} }) }, value: null }));
  assert.deepEqual([node.textContent, node.title], ["?", "no decision yet"]);
});

test("a digit selects the label of a single choice", () => {
  const context = { kind: "choice", fields: ["v_label"], values: { v_label: ["a", "b", "c"] } };
  /** @type {unknown[]} */
  const set = [];
  const node = { data: {}, setDataValue: (/** @type {unknown[]} */ ...change) => set.push(change) };
  for (const [key, code] of [
    ["2", "Digit2"],
    ["۱", "Digit1"],
    ["9", "Digit9"],
  ]) {
    const event = new window.KeyboardEvent("keydown", { key, code });
    handleKey(/** @type {any} */ ({ api: { getGridOption: () => context }, node, event }));
  }
  assert.deepEqual(set, [
    ["v_label", "b"],
    ["v_label", "a"],
  ]);
});

test("keys rate the focused dimension, whatever its place", () => {
  const values = { v_a: ["0", "1", "2"], v_b: ["-1", "0", "1"], v_c: Array.from({ length: 11 }, (_, n) => `${n}`) };
  const context = { kind: "rating", fields: Object.keys(values), values };
  /** @type {Record<string, string | number>} */
  const data = { v_a: "0", v_b: "?", v_c: "5.67", _text: "", _read_at: 0 };
  const node = {
    data,
    setDataValue: (/** @type {string} */ field, /** @type {string} */ value) => {
      data[field] = value;
    },
  };
  const getColumn = (/** @type {string} */ id) => ({ getColId: () => id });
  const api = { getGridOption: () => context, getColumn };
  for (const [id, keys, expected] of [
    ["v_a", "2", { v_a: "2", v_b: "?", v_c: "5.67" }],
    ["v_a", "9", { v_a: "2", v_b: "?", v_c: "5.67" }],
    ["_text", "1", { v_a: "2", v_b: "?", v_c: "5.67" }],
    ["v_b", "0-", { v_a: "2", v_b: "-1", v_c: "5.67" }],
    ["v_b", "-++", { v_a: "2", v_b: "1", v_c: "5.67" }],
    ["v_c", " ", { v_a: "2", v_b: "1", v_c: "6" }],
    ["v_c", " ", { v_a: "2", v_b: "1", v_c: "7" }],
    ["v_c", "10", { v_a: "2", v_b: "1", v_c: "10" }],
    ["v_a", "1", { v_a: "1", v_b: "1", v_c: "10" }],
  ]) {
    for (const key of /** @type {string} */ (keys)) {
      const event = new window.KeyboardEvent("keydown", { key });
      handleKey(/** @type {any} */ ({ api, node, column: getColumn(/** @type {string} */ (id)), event }));
    }
    const { v_a, v_b, v_c } = data;
    assert.deepEqual({ v_a, v_b, v_c }, expected, `${keys} in ${id}`);
  }
});

/** Requests to the studio, which `answerNext` answers in order. @type {{ message: any, answer: (body: unknown) => void }[]} */
let requests = [];

beforeEach(() => {
  requests = [];
  globalThis.fetch = /** @type {any} */ (
    (/** @type {string} */ _address, /** @type {{ body: string }} */ { body }) =>
      new Promise((resolve) => {
        const answer = (/** @type {unknown} */ content) =>
          resolve({ status: 200, headers: new Headers({ "Content-Type": "application/json" }), json: () => content });
        requests.push({ message: JSON.parse(body), answer });
      })
  );
});

async function answerNext(/** @type {string} */ kind, /** @type {unknown} */ content) {
  const request = requests.shift();
  assert.ok(request?.message[kind], kind);
  request.answer(content);
  await new Promise((resolve) => setImmediate(resolve));
  return request.message[kind];
}

const column = { getColId: () => "v_a" };

/** Start a grid with rows of these ids, two of which are in sight, and return its interface and rows. */
function startGrid(/** @type {string[]} */ ...ids) {
  const nodes = ids.map((id, rowIndex) => ({
    id,
    rowIndex,
    rowTop: rowIndex * 30,
    rowHeight: 30,
    data: { _id: id, _status: "Pending", _sampling: '{"how": "drawn"}', _quotes: "", _read_at: 0, v_a: "0" },
    setDataValue() {},
  }));
  const context = { kind: "multilabel", fields: ["v_a"], head: {}, focus: null };
  let top = 0;
  const api = {
    getGridOption: () => context,
    getColumn: () => column,
    getDisplayedRowCount: () => nodes.length,
    getDisplayedRowAtIndex: (/** @type {number} */ index) => nodes[index],
    getRowNode: (/** @type {string} */ id) => nodes.find((node) => node.id === id),
    getFocusedCell: () => /** @type {any} */ (null),
    refreshCells() {},
    refreshHeader() {},
    setFocusedCell() {},
    getVerticalPixelRange: () => ({ top, bottom: top + 60 }),
    ensureIndexVisible(/** @type {number} */ index) {
      top = Math.min(index * 30, Math.max(top, (index - 1) * 30));
    },
  };
  start(/** @type {any} */ ({ api }));
  const press = (/** @type {unknown} */ node) =>
    handleKey(/** @type {any} */ ({ api, node, column, event: new window.KeyboardEvent("keydown", { key: "Enter" }) }));
  return { api, nodes, press };
}

const statusOf = (/** @type {any} */ node) =>
  getValue(/** @type {any} */ ({ node, data: node.data, column: { getColId: () => "_status" } }));

test("rows that were read before an action do not replace its result", async () => {
  const saved = { answers: [{ saved: "14:05", touched: ["d1"] }], read: 7 };
  const { api, nodes, press } = startGrid("d1");
  const [node] = nodes;
  setValue(/** @type {any} */ ({ api, node, data: node.data, column, newValue: "1" }));
  await answerNext("actions", saved);
  press(node);
  await answerNext("query", { cells: [{ ...node.data, _status: "Draft" }] });
  assert.equal(statusOf(node), "Submitted");
  await answerNext("actions", saved);
  await answerNext("query", { cells: [{ ...node.data, _status: "Submitted", _quotes: "1 of 1" }] });
  assert.deepEqual([statusOf(node), node.data._quotes], ["Submitted", "1 of 1"]);
});

test("Enter does not submit a row that was out of sight until the key before", async (context) => {
  let now = 1000;
  context.mock.method(performance, "now", () => now);
  const { api, nodes, press } = startGrid("s1", "s2", "s3", "s4");
  const submitted = () => nodes.filter((node) => statusOf(node) === "Submitted").map(({ id }) => id);
  for (const node of nodes.slice(0, 3)) press(node);
  assert.deepEqual(submitted(), ["s1", "s2"]);
  now += 499;
  press(nodes[2]);
  assert.deepEqual(submitted(), ["s1", "s2"]);
  now += 1;
  press(nodes[2]);
  assert.deepEqual(submitted(), ["s1", "s2", "s3"]);
  now += 500;
  api.ensureIndexVisible(0); // the reviewer scrolls
  press(nodes[3]);
  assert.deepEqual(submitted(), ["s1", "s2", "s3"]);
});

test("the next row counts as drawn although the page has rows from before the submission", async () => {
  const { nodes, press } = startGrid("d2", "d3");
  press(nodes[0]);
  const [first] = await answerNext("actions", { answers: [{ saved: "14:05", touched: [] }], read: 7 });
  for (const node of nodes) node.data = { ...node.data, _status: "Pending", _read_at: 5 };
  press(nodes[1]);
  const [second] = await answerNext("actions", { answers: [{ saved: "14:05", touched: [] }], read: 9 });
  assert.deepEqual([first.sampling, second.sampling], [{ how: "drawn" }, { how: "drawn" }]);
});

test("a submission that the studio refuses leaves the row waiting", async () => {
  const { nodes, press } = startGrid("d4", "d5");
  press(nodes[0]);
  assert.equal(statusOf(nodes[0]), "Submitted");
  await answerNext("actions", { answers: [{ problem: "No.", remedy: "" }], read: 7 });
  assert.equal(statusOf(nodes[0]), "Pending");
});

test("a cell whose edit the studio refuses shows the value before the edit", async () => {
  const { api, nodes } = startGrid("d6");
  const [node] = nodes;
  const value = () => getValue(/** @type {any} */ ({ node, data: node.data, column }));
  const edit = (/** @type {string} */ newValue) =>
    setValue(/** @type {any} */ ({ api, node, data: node.data, column, newValue }));
  const refusal = { answers: [{ problem: "No.", remedy: "" }], read: 7 };
  edit("1");
  assert.equal(value(), "1");
  await answerNext("actions", refusal);
  assert.equal(value(), "0");
  edit("?");
  edit("1");
  await answerNext("actions", refusal); // a later edit stays until its own answer
  assert.equal(value(), "1");
  await answerNext("actions", refusal);
  assert.equal(value(), "0");
});

test("the page runs once for a click on a label of another row, after the label is stored", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { api, nodes } = startGrid("d7", "d8");
  const node = nodes[1];
  let notifications = 0;
  nodes[0].setDataValue = () => {
    notifications += 1;
  };
  const event = /** @type {any} */ ({ eventData: { api: { ...api, getSelectedNodes: () => [] } } });
  noteFocus(/** @type {any} */ ({ api, rowIndex: 1 }));
  setValue(/** @type {any} */ ({ api, node, data: node.data, column, newValue: "1" }));
  assert.equal(shouldReturn(event), false);
  await answerNext("actions", { answers: [{ saved: "14:05", touched: [] }], read: 7 });
  const before = collectState(event).revision;
  assert.equal(shouldReturn(event), true);
  const { revision, row } = collectState(event);
  assert.deepEqual([revision, row], [before + 1, "d8"]);
  context.mock.timers.tick(60_000);
  assert.equal(notifications, 0);
});

test("the row that was clicked last is sent when the user leaves the grid, also while the page runs", () => {
  const { api } = startGrid("d7", "d8");
  const app = document.body.appendChild(document.createElement("div"));
  app.dataset.testid = "stApp";
  app.dataset.testScriptState = "running";
  const event = /** @type {any} */ ({ eventData: { api: { ...api, getSelectedNodes: () => [] } } });
  noteFocus(/** @type {any} */ ({ api, rowIndex: 1 }));
  assert.equal(shouldReturn(event), false);
  api.getFocusedCell = () => ({ rowIndex: 1 });
  window.dispatchEvent(new window.Event("blur"));
  assert.equal(shouldReturn(event), true);
  assert.equal(collectState(event).row, "d8");
  app.remove();
});

/** The row that has the focus after a click on d2, and after new rows without some of d1 to d4. */
function focusAfter(/** @type {string[]} */ ...left) {
  const grid = startGrid("d1", "d2", "d3", "d4");
  /** @type {any} */
  const api = grid.api;
  let rows = grid.nodes;
  let focused = 0;
  document.hasFocus = () => true;
  const focus = (/** @type {number} */ rowIndex, /** @type {object} */ more = {}) => {
    focused = rowIndex;
    noteFocus({ api, rowIndex, ...more });
  };
  Object.assign(api, {
    getDisplayedRowAtIndex: (/** @type {number} */ index) => rows[index],
    getRowNode: (/** @type {string} */ id) => rows.find((node) => node.id === id),
    getFocusedCell: () => ({ rowIndex: focused, column }),
    getSelectedNodes: () => [],
    setFocusedCell: focus,
  });
  focus(1, { preventScrollOnBrowserFocus: true, sourceEvent: new window.MouseEvent("mousedown") });
  rows = rows.filter(({ id }) => !left.includes(id)).map((node, rowIndex) => ({ ...node, rowIndex }));
  if (focused >= rows.length) focus(rows.length - 1, { preventScrollOnBrowserFocus: true }); // as the grid does
  keepFocus({ api });
  return [collectState({ eventData: { api } }).row, rows[focused].id];
}

test("the focus stays on its document, or moves to the one that took its place", () => {
  assert.deepEqual(focusAfter(), ["d2", "d2"]);
  assert.deepEqual(focusAfter("d1"), ["d2", "d2"]);
  assert.deepEqual(focusAfter("d1", "d3", "d4"), ["d2", "d2"]);
  assert.deepEqual(focusAfter("d2"), ["d3", "d3"]);
  assert.deepEqual(focusAfter("d2", "d3", "d4"), ["d1", "d1"]);
});

test("keys and late reports of the focus follow a document that new rows have moved", async () => {
  const grid = startGrid("d1", "d2", "d3");
  /** @type {any} */
  const api = grid.api;
  let rows = grid.nodes;
  Object.assign(api, {
    getDisplayedRowCount: () => rows.length,
    getDisplayedRowAtIndex: (/** @type {number} */ index) => rows[index],
    getRowNode: (/** @type {string} */ id) => rows.find((node) => node.id === id),
    getSelectedNodes: () => [],
  });
  const focused = () => collectState({ eventData: { api } }).row;
  grid.press(rows[0]);
  rows = rows.slice(1).map((node, rowIndex) => ({ ...node, rowIndex }));
  noteFocus({ api, rowIndex: 1 }); // of d2, which is at 0 now
  assert.equal(focused(), "d2");
  grid.press(rows[1]); // the grid's focus is not corrected yet
  assert.equal(focused(), "d3");
  const [first] = await answerNext("actions", { answers: [{ saved: "14:05", touched: [] }], read: 7 });
  const [second] = await answerNext("actions", { answers: [{ saved: "14:05", touched: [] }], read: 8 });
  assert.deepEqual([first.document, second.document], ["d1", "d2"]);
});
