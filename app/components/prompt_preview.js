// The prompts of the roles, shown as text. Lines that an edit added or removed are marked.

import { button, el, setText } from "./dom.js";
import { formatChange, formatCount } from "./format.js";
import { avatar, createRoles, findRole } from "./roles.js";
import { isUnchanged, rootOf } from "./streamlit_bridge.js";

/** @import { RoleData } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {["same" | "added" | "removed", string]} Piece */
/**
 * @typedef {object} RolePrompt
 * @property {RoleData | null} role
 * @property {string} title
 * @property {number} tokens
 * @property {number} token_change Compared with the saved version.
 * @property {{ speaker: string, pieces: Piece[] }[]} parts
 */

const CONTEXT_HEIGHT = 70; // pixels above the first change
/** The shown tab and the last shown changes by root. @type {WeakMap<HTMLElement, { tab: string, changes: string }>} */
const states = new WeakMap();

/** @param {Component<{ roles: RolePrompt[], height: number }>} component */
export default function (component) {
  const { data } = component;
  const root = rootOf(component);
  if (isUnchanged(root, data)) return;
  const { roles } = data;
  const before = states.get(root);
  const tab = roles.some(({ title }) => title === before?.tab) ? (before?.tab ?? "") : (roles[0]?.title ?? "");
  const changes = JSON.stringify(
    roles.map(({ parts }) => parts.flatMap(({ pieces }) => pieces.filter(([kind]) => kind !== "same"))),
  );
  const state = { tab, changes };
  states.set(root, state);

  const { scrollTop } = root.querySelector(".prompt") ?? { scrollTop: 0 };
  const body = el("div", { className: "prompt", tabIndex: 0 });
  body.style.setProperty("--max-height", `${data.height}px`);
  const length = el("span", "push");
  const draw = () => {
    const shown = roles.find(({ title }) => title === state.tab);
    for (const [index, { title }] of roles.entries()) {
      tabs[index].ariaSelected = String(title === state.tab);
    }
    const change = shown?.token_change ? `, ${formatChange(shown.token_change)}` : "";
    setText(length, `about ${formatCount(shown?.tokens ?? 0)} tokens${change}`);
    body.replaceChildren(...promptNodes(shown, length));
  };
  const tabs = roles.map((role) => {
    const pick = () => {
      state.tab = role.title;
      body.scrollTop = 0;
      draw();
    };
    return button({ role: "tab" }, pick, role.role && roleTile(role.role), role.title);
  });
  root.replaceChildren(el("div", { className: "tabs", role: "tablist" }, ...tabs), body);
  draw();
  const changed = body.querySelector(".added, .removed");
  const edited = changed instanceof HTMLElement && changes !== before?.changes;
  body.scrollTop = edited ? changed.offsetTop - body.offsetTop - CONTEXT_HEIGHT : scrollTop;
}

/** @param {RolePrompt | undefined} prompt @param {Node} length */
function promptNodes(prompt, length) {
  return (prompt?.parts ?? []).flatMap(({ speaker, pieces }, index) => [
    el("div", "speaker", speaker, index ? null : length),
    ...pieces.map(([kind, text]) => el("pre", kind === "same" ? "" : kind, text || " ")),
  ]);
}

/** @param {RoleData} data */
function roleTile(data) {
  return avatar(findRole(createRoles([data]), data.role), { small: true });
}
