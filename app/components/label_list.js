// The labels of a codebook. Click or use the arrow keys to select one; drag its grip, or use Alt with an arrow key, to
// move it.

import { button, cutText, el, focusedIn } from "./dom.js";
import { isUnchanged, markChanged, rootOf } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {{ id: string, name: string, colour: number, note: string }} Row */
/** @typedef {{ labels: Row[], selected: string | null }} LabelListData */

/** @param {Component<LabelListData>} component */
export default function (component) {
  const { data, setTriggerValue } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  Object.assign(root, { role: "list", ariaLabel: "Labels" });
  const focused = focusedPart(root);
  const notifyOrder = () => {
    const order = [...root.children].map((row) => /** @type {HTMLElement} */ (row).dataset.id);
    if (order.join() === data.labels.map(({ id }) => id).join()) return;
    markChanged(root); // if the order is refused, the next update restores the rows
    setTriggerValue("order", order);
  };
  const rows = data.labels.map((label) => {
    const selected = label.id === data.selected;
    const pick = () => {
      setTriggerValue("pick", label.id);
      showEditor(root);
    };
    return labelRow(label, selected, pick, notifyOrder);
  });
  root.replaceChildren(...rows);
  const row = rows.find(({ dataset }) => dataset.id === focused?.id);
  if (row && focused) focusPart(row, focused.part, { preventScroll: true });
}

/**
 * Scroll to the editor of the label if it is below the list, as in a narrow window.
 *
 * @param {HTMLElement} root
 */
function showEditor(root) {
  const editor = document.querySelector(".st-key-editor");
  if (editor && editor.getBoundingClientRect().top > root.getBoundingClientRect().bottom) editor.scrollIntoView();
}

/** @param {HTMLElement} root */
function focusedPart(root) {
  const focused = focusedIn(root);
  const row = focused?.closest(".row");
  return row instanceof HTMLElement ? { id: row.dataset.id, part: focused?.classList[0] } : null;
}

/** @param {Element} row @param {string | undefined} part @param {FocusOptions} [options] */
function focusPart(row, part, options) {
  const node = row.querySelector(`.${part}`);
  if (node instanceof HTMLElement) node.focus(options);
}

/** @param {Row} label @param {boolean} selected @param {() => void} onPick @param {() => void} onMoved */
function labelRow({ id, name, colour, note }, selected, onPick, onMoved) {
  const moves = `Move ${name}: drag, or press Alt with an arrow key`;
  const grip = button({ className: "grip", ariaLabel: moves }, () => {});
  const parts = [el("span", `swatch l${colour}`), cutText(name), note && el("span", "note", note)];
  const pick = button({ className: "pick", ariaCurrent: String(selected) }, onPick, ...parts);
  const row = el("div", { className: `row${selected ? " selected" : ""}`, role: "listitem" }, grip, pick);
  row.dataset.id = id;
  row.onkeydown = (event) => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    event.stopPropagation();
    const up = event.key === "ArrowUp";
    const other = up ? row.previousElementSibling : row.nextElementSibling;
    if (!other) return;
    if (event.altKey) {
      other[up ? "before" : "after"](row);
      /** @type {HTMLElement} */ (event.target).focus();
      onMoved();
    } else focusPart(other, "pick");
  };
  grip.onpointerdown = (event) => drag(event, row, grip, onMoved);
  return row;
}

/**
 * Move a row with the pointer until the pointer is released.
 *
 * @param {PointerEvent} event
 * @param {HTMLElement} row
 * @param {HTMLElement} grip
 * @param {() => void} onMoved
 */
function drag(event, row, grip, onMoved) {
  event.preventDefault();
  grip.setPointerCapture(event.pointerId);
  row.classList.add("dragged");
  let start = event.clientY;
  const follow = (/** @type {PointerEvent} */ { clientY }) => {
    const above = /** @type {HTMLElement | null} */ (row.previousElementSibling);
    const below = /** @type {HTMLElement | null} */ (row.nextElementSibling);
    const distance = clientY - start;
    if (below && distance > below.offsetHeight / 2) {
      start += below.offsetHeight;
      row.before(below); // not the row itself: a moved element loses the pointer
    } else if (above && -distance > above.offsetHeight / 2) {
      start -= above.offsetHeight;
      row.after(above);
    }
    row.style.transform = `translateY(${clientY - start}px)`;
  };
  const drop = () => {
    grip.removeEventListener("pointermove", follow);
    row.classList.remove("dragged");
    row.style.transform = "";
    onMoved();
  };
  grip.addEventListener("pointermove", follow);
  grip.addEventListener("lostpointercapture", drop, { once: true });
}
