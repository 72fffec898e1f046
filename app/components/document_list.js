// The documents behind a number. A click notifies the page which one to show.

import { el } from "./dom.js";
import { avatar, createRoles, findRole } from "./roles.js";
import { rootOf } from "./streamlit_bridge.js";

/** @import { RoleData, Roles } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/**
 * A document. `role` has changed it; `corrected` and `regressed` are names of labels.
 * @typedef {{ id: string, excerpt: string, role?: string, corrected?: string[], regressed?: string[] }} Row
 */
/**
 * @typedef {object} DocumentListData
 * @property {Row[]} rows
 * @property {string} title
 * @property {string} note
 * @property {string} role_heading The heading of the column of roles. Without one there is no such column.
 * @property {RoleData[]} roles
 * @property {string | null} selected
 */

/** @param {Component<DocumentListData>} component */
export default function (component) {
  const { data, setTriggerValue } = component;
  const root = rootOf(component);
  const roles = createRoles(data.roles);
  const withRole = data.role_heading !== "";
  const columns = el("colgroup", "", el("col", "id"), el("col"), withRole && el("col", "role"));
  const headings = [
    el("th", "", el("b", "", data.title)),
    el("th", "", data.note),
    withRole && el("th", "", data.role_heading),
  ];
  const rows = data.rows.map((row) => {
    const text = el("button", "text", ...badges(row), row.excerpt);
    text.type = "button";
    text.title = row.excerpt;
    text.dataset.id = row.id;
    const id = el("td", "mono", row.id);
    id.title = row.id;
    const line = el("tr", "", id, el("td", "", text), withRole && el("td", "", roleNode(row, roles)));
    line.classList.toggle("selected", row.id === data.selected);
    line.onclick = () => setTriggerValue("document", row.id); // also for the button in it
    return line;
  });
  const { scrollTop } = root;
  const focused = focusedId(root);
  root.replaceChildren(el("table", "", columns, el("tr", "", ...headings), ...rows));
  root.scrollTop = scrollTop;
  const again = [...root.querySelectorAll("button")].find(({ dataset }) => focused && dataset.id === focused);
  again?.focus({ preventScroll: true });
}

/** @param {HTMLElement} root */
function focusedId(root) {
  const { activeElement } = /** @type {Document | ShadowRoot} */ (root.getRootNode());
  return activeElement instanceof HTMLElement && root.contains(activeElement) ? activeElement.dataset.id : undefined;
}

/** @param {Row} row */
function badges({ corrected = [], regressed = [] }) {
  return [
    ...corrected.map((name) => el("span", "badge right", `+${name}`)),
    ...regressed.map((name) => el("span", "badge wrong", `−${name}`)),
  ];
}

/**
 * @param {Row} row
 * @param {Roles} roles
 */
function roleNode({ role }, roles) {
  if (!role) return null;
  const found = findRole(roles, role);
  return el("span", "role", avatar(found, { small: true }), found.name);
}
