// List of the documents that a number counts. A click opens a document in the drawer. The arrow keys move between
// documents, so that the tab key passes a long list at once.

import { button, el, focusedIn } from "./dom.js";
import { announceListing, markShownRow, openDocument } from "./open_document.js";
import { avatar, createRoles, findRole } from "./roles.js";
import { rootOf } from "./streamlit_bridge.js";

/** @import { RoleData, Roles } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/**
 * A document. `corrected` and `regressed` are names of labels. The last column has the `role` that changed it, or a `note`.
 * @typedef {{ id: string, excerpt: string, role?: string, note?: string, corrected?: string[], regressed?: string[] }} Row
 */
/**
 * @typedef {object} DocumentListData
 * @property {Row[]} rows
 * @property {string} title
 * @property {string} note
 * @property {string} heading The heading of the last column. Without a heading, the column is omitted.
 * @property {RoleData[]} roles
 * @property {string} listing The name of the list in the drawer: "2 of 43 in LISTING".
 */

/** @param {Component<DocumentListData>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  const roles = createRoles(data.roles);
  const withLast = data.heading !== "";
  const idColumn = el("col");
  idColumn.style.width = `${idWidth(data)}px`;
  const columns = el("colgroup", "", idColumn, el("col"), withLast && el("col", "last"));
  const headings = [
    el("th", "", el("b", "", data.title)),
    el("th", "", data.note),
    withLast && el("th", "", data.heading),
  ];
  const listing = { ids: data.rows.map(({ id }) => id), title: data.listing };
  const rows = data.rows.map((row) => {
    const text = button({ className: "excerpt ellipsis", title: row.excerpt }, () => {}, ...badges(row), row.excerpt);
    text.dataset.id = row.id;
    const id = el("td", { className: "mono", title: row.id }, row.id);
    const line = el("tr", "", id, el("td", "", text), withLast && lastCell(row, roles));
    line.dataset.id = row.id;
    line.onclick = () => openDocument(row.id, listing); // also for the button in it
    return line;
  });
  const { scrollTop } = root;
  const focused = focusedIn(root)?.dataset.id;
  root.replaceChildren(el("table", "", columns, el("tr", "", ...headings), ...rows));
  root.scrollTop = scrollTop;
  const buttons = [...root.querySelectorAll("button")];
  moveByArrows(buttons);
  const again = buttons.find(({ dataset }) => focused && dataset.id === focused);
  again?.focus({ preventScroll: true });
  markShownRow(root, "tr[data-id]");
  announceListing(listing);
}

/**
 * Let the arrow keys move the focus between the buttons, and the tab key reach only the last one that had the focus.
 *
 * @param {HTMLButtonElement[]} buttons
 */
function moveByArrows(buttons) {
  buttons.forEach((button, index) => {
    button.tabIndex = index ? -1 : 0;
    button.onfocus = () => {
      for (const each of buttons) each.tabIndex = each === button ? 0 : -1;
    };
    button.onkeydown = (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      buttons[index + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
    };
  });
}

/**
 * Return the width of the first column in pixels: as its longest text needs, at most 180.
 * @param {DocumentListData} data
 */
function idWidth({ rows, title }) {
  return Math.min(180, 20 + 7.4 * Math.max(title.length, ...rows.map(({ id }) => id.length)));
}

/** @param {Row} row */
function badges({ corrected = [], regressed = [] }) {
  return [
    ...corrected.map((name) => el("span", "badge right", `+${name}`)),
    ...regressed.map((name) => el("span", "badge wrong", `−${name}`)),
  ];
}

/** @param {Row} row @param {Roles} roles */
function lastCell({ role, note = "" }, roles) {
  if (!role) return el("td", { className: "small secondary", title: note }, note);
  const found = findRole(roles, role);
  return el("td", "", el("span", "role", avatar(found, { small: true }), found.name));
}
