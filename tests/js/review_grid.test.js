import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import { fitColumns, handleKey } from "../../app/components/review_grid.js";

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
