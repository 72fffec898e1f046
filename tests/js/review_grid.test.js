import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { fitColumns, handleKey, setValue, start } from "../../app/components/review_grid.js";

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

test("a digit selects the label of a single choice", () => {
  const context = { kind: "choice", fields: ["v_label"], values: { v_label: ["a", "b", "c"] } };
  /** @type {unknown[]} */
  const set = [];
  const node = { data: {}, setDataValue: (/** @type {unknown[]} */ ...change) => set.push(change) };
  for (const key of ["2", "1", "9"]) {
    const event = new window.KeyboardEvent("keydown", { key });
    handleKey(/** @type {any} */ ({ api: { getGridOption: () => context }, node, event }));
  }
  assert.deepEqual(set, [
    ["v_label", "b"],
    ["v_label", "a"],
  ]);
});

test("rows that were read before an action do not replace its result", async () => {
  /** @type {{ message: any, answer: (body: unknown) => void }[]} */
  const requests = [];
  globalThis.fetch = /** @type {any} */ (
    (/** @type {string} */ _address, /** @type {{ body: string }} */ { body }) =>
      new Promise((resolve) => {
        const answer = (/** @type {unknown} */ content) =>
          resolve({ status: 200, headers: new Headers({ "Content-Type": "application/json" }), json: () => content });
        requests.push({ message: JSON.parse(body), answer });
      })
  );
  const answerNext = async (/** @type {string} */ kind, /** @type {unknown} */ content) => {
    const request = requests.shift();
    assert.ok(request?.message[kind], kind);
    request.answer(content);
    await new Promise((resolve) => setTimeout(resolve));
  };
  const saved = { answers: [{ saved: "14:05", touched: ["d1"] }], read: 7 };
  const column = { getColId: () => "v_a" };
  const data = { _id: "d1", _status: "Pending", _quotes: "", _read_at: 0, v_a: "0" };
  const node = { id: "d1", rowIndex: 0, data, setDataValue() {} };
  const context = { kind: "multilabel", fields: ["v_a"], address: "/", head: {}, focus: null };
  const api = {
    getGridOption: () => context,
    getColumn: () => column,
    getDisplayedRowCount: () => 1,
    getDisplayedRowAtIndex: () => node,
    getRowNode: () => node,
    refreshCells() {},
    refreshHeader() {},
    setFocusedCell() {},
    ensureIndexVisible() {},
  };
  start(/** @type {any} */ ({ api }));
  setValue(/** @type {any} */ ({ api, node, data, column, newValue: "1" }));
  await answerNext("actions", saved);
  handleKey(/** @type {any} */ ({ api, node, column, event: new window.KeyboardEvent("keydown", { key: "Enter" }) }));
  await answerNext("query", { cells: [{ ...data, _status: "Draft" }] });
  assert.equal(data._status, "Submitted");
  await answerNext("actions", saved);
  await answerNext("query", { cells: [{ ...data, _quotes: "1 of 1" }] });
  assert.deepEqual([data._status, data._quotes], ["Submitted", "1 of 1"]);
});
