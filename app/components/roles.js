// Roles of a debate: their names, colours and letters.

import { el } from "./dom.js";

/**
 * A role as the page sends it. `colour` is a CSS class, `group` the panel that the role belongs to.
 * @typedef {{ role: string, colour: string, name?: string, group?: string }} RoleData
 */
/**
 * A role as it is shown.
 * @typedef {{ role: string, name: string, colour: string, letter: string, group: string }} Role
 */
/**
 * Roles by id, in the order of the protocol.
 * @typedef {Map<string, Role>} Roles
 */

const UNKNOWN_COLOUR = "panelist"; // of a role that the page did not announce

/**
 * Return the name of a role for the screen: "first_judge" becomes "First judge".
 *
 * @param {string} role
 */
export function humanize(role) {
  return (role.charAt(0).toUpperCase() + role.slice(1)).replace(/[_-]+/g, " ");
}

/**
 * Give each role a letter. Roles that begin with the same letter get a second character: A1, A2 or J and Ju.
 *
 * @param {RoleData[]} rows
 * @returns {Roles}
 */
export function createRoles(rows) {
  /** @type {Roles} */
  const roles = new Map();
  for (const { role, colour, name: given, group = "" } of rows) {
    const name = given || humanize(role);
    roles.set(role, { role, name, colour, letter: firstCharacters(name).toUpperCase(), group });
  }
  const used = new Map();
  for (const { letter } of roles.values()) used.set(letter, (used.get(letter) ?? 0) + 1);
  for (const role of roles.values()) if (used.get(role.letter) > 1) role.letter = longLetter(role);
  return roles;
}

/** @param {Role} role */
function longLetter({ name, letter }) {
  const words = name.split(/\s+/);
  const last = words[words.length - 1];
  if (/^[A-Z]$/.test(last)) return last; // "Annotator B" is known as B
  const number = name.match(/(\d{1,2})\D*$/);
  if (number) return letter + number[1].slice(-1);
  return words.length > 1 ? letter + firstCharacters(words[1]).toUpperCase() : firstCharacters(name, 2);
}

/** @param {string} text @param {number} [count] */
function firstCharacters(text, count = 1) {
  return [...text].slice(0, count).join(""); // an emoji has two UTF-16 units
}

/**
 * Return a role. A role that the page did not announce is added to the others.
 *
 * @param {Roles} roles
 * @param {string} id
 * @returns {Role}
 */
export function findRole(roles, id) {
  const known = roles.get(id);
  if (known) return known;
  const name = humanize(id || "?");
  const added = { role: id, name, colour: UNKNOWN_COLOUR, letter: firstCharacters(name), group: "" };
  roles.set(id, added);
  return added;
}

/** @param {Role} role @param {{ small?: boolean, filled?: boolean }} [options] */
export function avatar(role, { small = false, filled = false } = {}) {
  const node = el("span", { className: `avatar ${role.colour}`, title: role.name }, role.letter);
  node.classList.toggle("small", small);
  node.classList.toggle("filled", filled);
  node.classList.toggle("long", role.letter.length > 1);
  return node;
}
