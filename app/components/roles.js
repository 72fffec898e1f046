// Roles: names, letters and colours.

import { el } from "./dom.js";

export function roleColour(role) {
  const name = role.toLowerCase();
  for (const known of ["extractor", "critic", "judge", "advocate"]) if (name.startsWith(known)) return known;
  if (/^(prosecut|defen|proponent|opponent)/.test(name)) return "advocate";
  if (/^(person|you|author)/.test(name)) return "person";
  return "panelist";
}

export function roleBook(roles) {
  const book = new Map();
  for (const row of roles || []) {
    const role = typeof row === "string" ? row : row.role;
    const name = (typeof row === "string" ? "" : row.name) || pretty(role);
    book.set(role, { role, name, colour: roleColour(role), letter: name.slice(0, 1).toUpperCase(), group: row.group || "" });
  }
  const seen = new Map();
  for (const r of book.values()) seen.set(r.letter, (seen.get(r.letter) || 0) + 1);
  for (const r of book.values()) {
    if (seen.get(r.letter) < 2) continue;
    const number = r.name.match(/(\d{1,2})\D*$/);
    const words = r.name.split(/\s+/);
    if (/^[A-Z]$/.test(words[words.length - 1])) { r.letter = words[words.length - 1]; continue; } // Annotator B is known as B
    r.letter = number ? r.letter + number[1].slice(-1) : words[1] ? r.letter + words[1][0].toUpperCase() : r.name.slice(0, 2);
  }
  return book;
}

export const pretty = (role) => (role.charAt(0).toUpperCase() + role.slice(1)).replace(/[_-]+/g, " ");

export function roleOf(book, role) {
  let found = book.get(role);
  if (!found) {
    const name = pretty(role || "?");
    found = { role, name, colour: roleColour(role || ""), letter: name.slice(0, 1) };
    book.set(role, found);
  }
  return found;
}

// Whom a turn has heard, in words: "answers the critic", "weighs both", "hears A, B and C".
export function heardOf(turn, roles) {
  const others = turn.replies_to.filter((role) => role !== turn.role);
  if (!others.length) return turn.replies_to.length ? "goes over its own words" : "";
  const names = others.map((role) => roleOf(roles, role).name);
  if (roleColour(turn.role) === "judge" && others.length === 2) return "weighs both";
  if (names.length === 1) return `answers ${names[0]}`;
  if (names.length > 4) return `hears ${names.length} others`;
  return `hears ${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

export function avatar(r, size, filled) {
  const node = el("span", `av ${r.colour} ${size || ""} ${filled ? "f" : ""} ${r.letter.length > 1 ? "two" : ""}`, r.letter);
  node.title = r.name;
  return node;
}
