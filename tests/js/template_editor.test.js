import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import drawEditor from "../../app/components/template_editor.js";

test("the text is sent when the field is left", () => {
  document.body.innerHTML = '<div id="component"><div class="moot"></div></div>';
  const parentElement = /** @type {HTMLElement} */ (document.querySelector("#component"));
  const data = { text: "Decide.", life: "1", name: "Judge", problems: [], height: 100 };
  /** @type {unknown[]} */
  const sent = [];
  drawEditor({ data, parentElement, setStateValue: (_, value) => sent.push(value), setTriggerValue: () => {} });
  const area = /** @type {HTMLTextAreaElement} */ (document.querySelector("textarea"));
  area.value = "Decide now.";
  area.dispatchEvent(new window.Event("blur"));
  assert.deepEqual(sent, [{ life: "1", text: "Decide now." }]);
});

test("Tab leaves the editor, also while text is selected", () => {
  document.body.innerHTML = '<div id="component"><div class="moot"></div></div>';
  const parentElement = /** @type {HTMLElement} */ (document.querySelector("#component"));
  const data = { text: "Decide.", life: "1", name: "Judge", problems: [], height: 100 };
  drawEditor({ data, parentElement, setStateValue: () => {}, setTriggerValue: () => {} });
  const area = /** @type {HTMLTextAreaElement} */ (document.querySelector("textarea"));
  area.select();
  assert.ok(area.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Tab", cancelable: true })));
});
