// Labels of a codebook: their names, colours and keys, and the values that they have.

import { el } from "./dom.js";
import { formatRating, MISSING } from "./format.js";

/** @typedef {"multilabel" | "choice" | "rating"} Kind */
/** @typedef {boolean | number | string | null} Value */
/**
 * Values by item. The items are label ids, and "label" in a codebook of kind "choice".
 * @typedef {Record<string, Value>} Values
 */
/** @typedef {{ id: string, name: string, colour: number }} LabelData */
/**
 * A label as it is shown. `colour` is 1 to 8, or 0 for none. `digit` is the key of the label, if any.
 * @typedef {{ id: string, name: string, colour: number, digit: string }} Label
 */
/**
 * Labels by id, in the order of the codebook.
 * @typedef {Map<string, Label>} Labels
 */

const CHOICE_ITEM = "label"; // the item of a codebook of kind "choice"
const MAX_SWATCHES = 8;

/** @param {LabelData[]} rows @returns {Labels} */
export function createLabels(rows) {
  const digitOf = (/** @type {number} */ index) => (index < 9 ? String(index + 1) : "");
  return new Map(rows.map((row, index) => [row.id, { ...row, digit: digitOf(index) }]));
}

/**
 * Return a label. An id that is not in the codebook gives a label without a colour.
 *
 * @param {Labels} labels
 * @param {string} id
 * @returns {Label}
 */
export function findLabel(labels, id) {
  const name = id === CHOICE_ITEM ? "Label" : `not in codebook: ${id}`;
  return labels.get(id) ?? { id, name, colour: 0, digit: "" };
}

/** @param {Value | undefined} value */
export function isOpen(value) {
  return value === null || value === undefined;
}

/**
 * Return a value in words: present, absent, the name of a label, or a rating.
 *
 * @param {Value | undefined} value
 * @param {Labels} labels
 * @param {string} [open] The words for a missing value.
 */
export function valueText(value, labels, open = "undecided") {
  if (isOpen(value)) return open;
  if (typeof value === "boolean") return value ? "present" : "absent";
  return typeof value === "string" ? findLabel(labels, value).name : formatRating(value);
}

/** @param {Label} label */
export function swatch(label) {
  return el("span", { className: `swatch l${label.colour}`, title: label.name });
}

/** @param {{ name: string, colour: number }} label */
export function labelName(label) {
  return el("span", `label l${label.colour}`, el("span", "swatch"), el("span", "ellipsis", label.name));
}

/**
 * Create a tag: the name of a label on its colour, with its rating if there is one.
 *
 * @param {Label} label
 * @param {{ absent?: boolean, rating?: Value }} [options]
 */
export function labelTag(label, { absent = false, rating = null } = {}) {
  return el(
    "span",
    `tag l${label.colour}${absent ? " absent" : ""}`,
    el("span", `swatch${absent ? " hollow" : ""}`),
    el("span", "ellipsis", label.name),
    rating === null ? null : el("b", "", formatRating(rating)),
  );
}

/**
 * Return the ids of the labels that are present, chosen or rated, in the order of the codebook.
 *
 * @param {Values | null | undefined} values An object, in which ids that are numbers come first.
 * @param {Kind} kind
 * @param {Labels} labels
 * @returns {string[]}
 */
export function presentLabels(values, kind, labels) {
  if (!values) return [];
  if (kind === "choice") return typeof values.label === "string" ? [values.label] : [];
  const present = Object.keys(values).filter((id) => (kind === "rating" ? values[id] !== null : values[id] === true));
  const order = [...labels.keys()];
  return present.sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

/**
 * Create a short form of a verdict: a square per label, or the ratings in the order of the codebook.
 *
 * @param {string[]} ids
 * @param {Values | null | undefined} values
 * @param {Labels} labels
 * @param {Kind} kind
 * @returns {Node[]}
 */
export function compactValues(ids, values, labels, kind) {
  if (kind !== "rating" || !values) return ids.slice(0, MAX_SWATCHES).map((id) => swatch(findLabel(labels, id)));
  if (!ids.length) return [];
  const ratings = [...labels.keys()].map((id) => (ids.includes(id) ? formatRating(values[id]) : MISSING));
  const text = ratings.join(" ");
  return [el("span", { className: "tiny secondary ellipsis", title: text }, text)];
}

/**
 * Find the items to which several opinions give different values; one that leaves an item open does not count.
 *
 * @param {Iterable<Values>} opinions
 * @returns {Set<string>}
 */
export function disputedItems(opinions) {
  /** @type {Map<string, Value>} */
  const first = new Map();
  /** @type {Set<string>} */
  const disputed = new Set();
  for (const values of opinions) {
    for (const [item, value] of Object.entries(values)) {
      if (value === null) continue;
      if (!first.has(item)) first.set(item, value);
      else if (first.get(item) !== value) disputed.add(item);
    }
  }
  return disputed;
}
