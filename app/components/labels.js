// Labels of a codebook: names, colours and keys.

import { el } from "./dom.js";
import { numeral } from "./format.js";

export function labelBook(labels) {
  const book = new Map();
  (labels || []).forEach((label, index) => {
    book.set(label.id, { id: label.id, name: label.name, colour: label.colour || (index % 8) + 1, digit: index < 9 ? String(index + 1) : "" });
  });
  return book;
}

export const labelOf = (book, id) => book.get(id) || { id, name: String(id), colour: 0, digit: "" };

export function tag(label, absent, value) {
  const node = el("span", `tag l${label.colour}${absent ? " no" : ""}`, el("span", `sq${absent ? " o" : ""}`), el("span", "ell", label.name));
  if (value !== undefined && value !== null) node.append(el("b", "", numeral(value)));
  return node;
}

// What a verdict amounts to in a narrow place: a square for each label, or the ratings in the order of the codebook.
export function inSmall(ids, values, book, kind) {
  if (kind === "rating" && values) return ids.length ? [el("span", "xs t2", [...book.keys()].map((id) => (ids.includes(id) ? numeral(values[id]) : "–")).join(" "))] : [];
  return ids.slice(0, 8).map((id) => { const label = labelOf(book, id); const square = el("span", `sq l${label.colour}`); square.title = label.name; return square; });
}

// label ids that a verdict's values name as present, for any kind of codebook
export function present(values, book, kind) {
  if (!values) return [];
  if (kind === "choice") return "label" in values && values.label !== null ? [values.label] : [];
  return Object.keys(values).filter((id) => (kind === "rating" ? values[id] !== null : values[id] === true));
}
