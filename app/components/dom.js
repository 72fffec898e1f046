// Build DOM nodes. Texts of documents and models reach the page through text nodes only, never as HTML.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** Icons: paths in a square of 24 units, drawn as outlines. */
const ICONS = {
  check: "M5 12.5l4.5 4.5L19 7.5",
  close: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v5",
  eye: "M2.5 12S6 5.5 12 5.5 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 9.200a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600z",
  chevron: "M9.500 6l6 6-6 6",
  clock: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM12 7.500V12l3 2",
  help: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM9.600 9.600a2.500 2.500 0 1 1 3.500 2.300c-.8.4-1.100.9-1.100 1.800M12 16.600v.1",
  done: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM8.300 12.300l2.600 2.600 4.900-5.300",
  fail: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM12 8v4.700M12 15.900v.1",
  reply: "M9 6L4.500 10.500 9 15M4.500 10.500H15a4.500 4.500 0 0 1 4.500 4.500v3",
  play: "M8 5.500v13l10.500-6.500z",
  stop: "M7 7h10v10H7z",
  pause: "M8.500 6v12M15.500 6v12",
  search: "M10.500 4.500a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15 15l5 5",
};

/** @typedef {keyof typeof ICONS} IconName */
/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Create an element. Children that are null, undefined or false are left out.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string | Partial<HTMLElementTagNameMap[Tag]>} [properties] A class name, or properties such as `ariaLabel`.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, properties, ...children) {
  const node = document.createElement(tag);
  Object.assign(node, typeof properties === "string" ? properties && { className: properties } : properties);
  for (const child of children) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

/** @param {string | Partial<HTMLButtonElement>} properties @param {() => void} onClick @param {...Child} children */
export function button(properties, onClick, ...children) {
  return Object.assign(el("button", properties, ...children), { type: "button", onclick: onClick });
}

/**
 * Create a text that is cut off where there is no room for it. Its tooltip is the whole text.
 *
 * @param {string} text
 * @param {string} [className]
 */
export function cutText(text, className = "") {
  return el("span", { className: `ellipsis ${className}`, title: text }, text);
}

/**
 * Make a region scrollable by keyboard, and name it for screen readers.
 *
 * @param {HTMLElement} node
 * @param {string} name
 */
export function makeScrollable(node, name) {
  Object.assign(node, { tabIndex: 0, role: "region", ariaLabel: name });
}

/**
 * Return true if the up and down keys scroll the target of an event: a region (see makeScrollable) that overflows.
 *
 * @param {unknown} target
 */
export function scrollsByKey(target) {
  return target instanceof Element && target.matches("[role='region']") && target.scrollHeight > target.clientHeight;
}

/** @param {HTMLElement} root */
export function focusedIn(root) {
  const { activeElement } = /** @type {Document | ShadowRoot} */ (root.getRootNode());
  return activeElement instanceof HTMLElement && root.contains(activeElement) ? activeElement : null;
}

const TEXT_FIELDS =
  "input:not([type='checkbox'], [type='radio'], [type='range']), textarea, select, [contenteditable='true'], " +
  "[role='combobox'], [role='textbox']";
/** Keys that belong to a focused element other than a text field. @type {[selector: string, keys: string[]][]} */
const OWN_KEYS = [
  ["button, a, summary, [role='button']", ["Enter", " "]],
  ["input[type='checkbox']", [" "]],
  [
    "input[type='radio'], input[type='range'], [role='slider'], [role='radio']",
    ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", " "],
  ],
];

/** @param {unknown} target */
export function isTyping(target) {
  return target instanceof Element && target.matches(TEXT_FIELDS);
}

/**
 * Return true for a select box with a closed list. It keeps the focus after a choice.
 *
 * @param {Element | null} target
 */
export function isClosedSelectBox(target) {
  return target?.matches("[role='combobox'][aria-expanded='false']") ?? false;
}

/**
 * Return true if a key belongs to the target of an event, such as the arrow keys to a slider.
 *
 * @param {unknown} target
 * @param {string} key
 */
export function ownsKey(target, key) {
  if (!(target instanceof Element)) return false;
  return isTyping(target) || OWN_KEYS.some(([selector, keys]) => keys.includes(key) && target.matches(selector));
}

/**
 * Return the key of an event as a shortcut names it: in lower case, and on a keyboard of another script the Latin letter
 * or digit in its place.
 *
 * @param {KeyboardEvent} event
 */
export function shortcutOf({ key, code }) {
  if (key.length > 1) return key;
  const latin = key > "~" ? /^(?:Key|Digit)(.)$/.exec(code)?.[1] : undefined;
  return (latin ?? key).toLowerCase();
}

/**
 * Create an icon. Screen readers skip it.
 *
 * @param {IconName} name
 * @param {string} [className]
 */
export function icon(name, className = "") {
  const path = document.createElementNS(SVG_NAMESPACE, "path");
  path.setAttribute("d", ICONS[name]);
  const svg = document.createElementNS(SVG_NAMESPACE, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon ${className}`.trim());
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}

/** @param {string} key */
export function keyHint(key) {
  return el("kbd", "key", key);
}

/**
 * Set the text of a node, without a change of the DOM if the text is the same.
 *
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
