// Parts of the Focus view: functions that create nodes from data.

import { button, el, icon, keyHint, makeScrollable } from "./dom.js";
import { isSupported } from "./evidence.js";
import { formatCount, formatDate, formatDuration, formatRating, formatTime } from "./format.js";
import { findLabel, isOpen, labelName, valueText } from "./labels.js";
import { isSettled } from "./review_queue.js";
import { avatar, findRole } from "./roles.js";

/** @import { Child } from "./dom.js" */
/** @import { Evidence } from "./evidence.js" */
/** @import { Label, Labels, Value, Values } from "./labels.js" */
/** @import { RunInfo } from "./debate_state.js" */
/** @import { ReviewStatus, SamplingRecord } from "./review_queue.js" */

/** @typedef {RunInfo & { scales: Record<string, { min: number, max: number }> }} ReviewInfo */
/** @typedef {{ reason: string, text: string, tone: string }} Reason */
/**
 * @typedef {object} QueueRow
 * @property {string} id
 * @property {string} text_start The beginning of the text.
 * @property {ReviewStatus} status
 * @property {number} [changed_at] When it was last changed, in Unix seconds.
 * @property {Reason[]} reasons
 * @property {boolean} skipped
 * @property {SamplingRecord | null} sampling The random selection of the document.
 */
/**
 * A document with all data for its review.
 *
 * @typedef {object} ReviewDocument
 * @property {string} id
 * @property {string} note
 * @property {Record<string, string>} fields
 * @property {ReviewStatus} status
 * @property {Values} values
 * @property {string[]} edited Items that the reviewer has decided.
 * @property {string[]} outdated Decided items whose definition has changed since.
 * @property {boolean} hidden True while the verdict is hidden, until the reviewer has decided.
 * @property {boolean} second_reading True if the verdict and other reviews are hidden until this review is submitted.
 * @property {string} comment
 * @property {string[]} tags
 * @property {boolean} flagged
 * @property {boolean} skipped
 * @property {Values} verdict
 * @property {Record<string, string>} unresolved Reasons of unresolved items.
 * @property {Record<string, Values>} roles
 * @property {(Evidence & { role: string })[]} evidence
 * @property {Values} gold
 * @property {Reason[]} reasons
 * @property {string} error
 * @property {string} ended Status of the verdict; "open" before the end of the debate.
 */
/** @typedef {{ documents: number, decided: number, urgent: number | null, seconds: number | null }} Progress */
/** @typedef {(item: string, value: Value) => void} OnChange */

const DECIDED = "Submitted or discarded by you, of all documents of this run with an ended debate";
const MAX_STEPS = 10;

/** @param {Reason[]} reasons */
function reasonBadges(reasons) {
  return reasons.map(({ text, tone }) => el("span", `badge ${tone}`, text));
}

/**
 * Return true if the reviewer sees the verdict before submitting, and has not seen it yet.
 *
 * @param {Pick<ReviewDocument, "hidden" | "second_reading">} document
 */
export function isBlind({ hidden, second_reading: isSecond }) {
  return hidden && !isSecond;
}

/** @param {QueueRow} row @param {boolean} selected @param {() => void} onClick */
export function queueRow({ id, text_start: text, status, changed_at: changedAt, reasons, skipped }, selected, onClick) {
  const settled = isSettled(status);
  const time = settled && changedAt ? ` ${formatDate(new Date(1000 * changedAt))}` : "";
  const badges = reasonBadges(reasons);
  if (skipped && !settled) badges.push(el("span", "badge", "skipped"));
  const node = button(
    { className: "queue-row choice", tabIndex: -1, ariaCurrent: selected ? "true" : null },
    onClick,
    el("span", "row", el("span", "id ellipsis", id), el("span", "status push tiny muted", status + time)),
    el("span", "excerpt ellipsis", text),
    badges.length ? el("span", "badges", ...badges) : null,
  );
  node.classList.toggle("selected", selected);
  node.classList.toggle("settled", settled);
  node.dataset.id = id;
  return node;
}

/** @param {Progress} progress */
export function progressNodes({ documents, decided, urgent, seconds }) {
  const bar = el("i");
  bar.style.width = `${documents ? (100 * decided) / documents : 0}%`;
  const time = seconds && urgent ? ` (about ${formatDuration(seconds * urgent)})` : "";
  const reasons = urgent === null ? "" : `, ${formatCount(urgent)} with a reason${time}`;
  return [
    el("span", { title: DECIDED }, el("b", "", formatCount(decided)), ` of ${formatCount(documents)} decided`),
    el("span", "progress-bar", bar),
    el("span", "muted", `${formatCount(documents - decided)} waiting${reasons}`),
  ];
}

// The document

/** @param {ReviewDocument} document @param {RunInfo} info @param {HTMLElement} text */
export function documentPanel(document, info, text) {
  const { id, note, hidden, second_reading: isSecond, reasons } = document;
  const name = el("span", "mono bold ellipsis", id);
  const badges = el("span", "row push badges", ...reasonBadges(reasons));
  const blind = isSecond
    ? "Second review: another reviewer has submitted this document. You see the verdict and other labels after you submit yours."
    : "Blind: the verdict is shown after you have decided every label.";
  const content = el(
    "div",
    "scroll",
    hidden && el("div", "veil", icon("eye"), blind),
    messageNode(document),
    text,
    !hidden && evidenceTable(document, info),
  );
  makeScrollable(content, "Document");
  return [el("div", "panel-head", name, el("span", "secondary small ellipsis", note), badges), content];
}

/**
 * Create the message above the text of a document whose debate failed, or did not begin.
 *
 * @param {ReviewDocument} document
 */
function messageNode({ error, ended }) {
  const retry = "Retry failed documents on the Run page, or decide the labels here.";
  const skip = "Decide the labels yourself, or skip it and see its verdict later.";
  if (error) return el("div", "veil wrong", el("span", "", el("b", "", "The debate failed. "), `${error} ${retry}`));
  return ended === "open" ? el("div", "veil", el("span", "", el("b", "", "Not debated yet. "), skip)) : null;
}

/**
 * Create the table of the evidence, quotes that are not in the text first.
 *
 * @param {ReviewDocument} document
 * @param {RunInfo} run
 */
function evidenceTable({ evidence }, { labels, roles }) {
  /** @type {Map<string, Evidence & { by: Set<string> }>} */
  const rows = new Map();
  for (const { role, ...one } of evidence) {
    const key = JSON.stringify([one.item, one.field, one.start, one.quote]);
    const row = rows.get(key) ?? { ...one, by: new Set() };
    row.by.add(role);
    rows.set(key, row);
  }
  if (!rows.size) return null;
  const sorted = [...rows.values()].sort(
    (a, b) => Number(isSupported(a)) - Number(isSupported(b)) || a.start - b.start,
  );
  const head = ["Evidence", "Quote", "By", "Match"].map((name) => el("th", "", name));
  const lines = sorted.map((row) => {
    const found = isSupported(row);
    const label = findLabel(labels, row.item);
    const range = el("span", "range", `, ${row.start} to ${row.end}`);
    const place = found ? el("span", "secondary", row.match, range) : el("span", "wrong", "not in the text");
    const quote = el("span", found ? `evidence quote l${label.colour}` : "unsupported quote", row.quote);
    const avatars = [...row.by].map((role) => avatar(findRole(roles, role), { small: true }));
    const by = el("span", avatars.length > 3 ? "row many" : "row", ...avatars);
    return el("tr", "", ...[labelName(label), quote, by, place].map((node) => el("td", "", node)));
  });
  return el("table", "evidence-table", el("thead", "", el("tr", "", ...head)), el("tbody", "", ...lines));
}

// The form

/**
 * Create the rows of the form, one per label.
 *
 * @param {ReviewDocument} document
 * @param {ReviewInfo} info
 * @param {number} focused The index of the label that has the focus.
 * @param {OnChange} onChange
 * @returns {Node[]}
 */
export function formRows(document, info, focused, onChange) {
  const labels = [...info.labels.values()];
  if (info.kind === "choice") return choiceRows(labels, document, info, focused, onChange);
  return labels.map((label, index) => {
    const value = document.values[label.id];
    const change = (/** @type {Value} */ next) => onChange(label.id, next);
    const isRating = info.kind === "rating";
    const control = isRating ? ratingControl(value, info.scales[label.id], change) : presenceSwitch(value, change);
    const notes = [...voteTiles(label.id, document, info), ...itemRemarks(label.id, document, info.labels)];
    return formRow(label, isRating ? null : label.digit, notes, control, index === focused);
  });
}

/**
 * Name the roles whose letters are on the tiles of the form; null if it shows no roles.
 *
 * @param {ReviewDocument} document
 * @param {ReviewInfo} info
 */
export function roleLegend(document, { roles, kind }) {
  const names = Object.keys(document.roles).map((id) => {
    const role = findRole(roles, id);
    return el("span", "row", avatar(role, { small: true }), role.name);
  });
  if (!names.length) return null;
  return el("div", "role-legend tiny muted", ...names, kind === "multilabel" ? "crossed out: absent" : "");
}

/**
 * @param {Label[]} labels
 * @param {ReviewDocument} document
 * @param {ReviewInfo} info
 * @param {number} focused
 * @param {OnChange} onChange
 */
function choiceRows(labels, document, info, focused, onChange) {
  const chosen = document.values.label;
  const remarks = itemRemarks("label", document, info.labels);
  const rows = labels.map((label, index) => {
    const isChosen = chosen === label.id;
    const naming = { role: "radio", ariaChecked: String(isChosen), ariaLabel: label.name };
    const className = isChosen ? "radio chosen" : "radio";
    const radio = button({ className, tabIndex: -1, ...naming }, () => onChange("label", label.id));
    const votes = voteTiles(label.id, document, info);
    return formRow(label, label.digit, isChosen ? [...votes, ...remarks] : votes, radio, index === focused);
  });
  const unplaced = remarks.length && !info.labels.has(String(chosen));
  return unplaced ? [el("div", "part", ...remarks), ...rows] : rows;
}

/**
 * @param {Label} label
 * @param {string | null} digit An empty text keeps its column free, null omits it.
 * @param {Node[]} notes
 * @param {Node} control
 * @param {boolean} focused
 */
function formRow(label, digit, notes, control, focused) {
  const name = el("div", "name", labelName(label), notes.length ? el("div", "votes", ...notes) : null);
  const key = digit === null ? null : digit ? keyHint(digit) : el("span");
  const node = el("div", `form-row l${label.colour}`, key, name, control);
  node.classList.toggle("focused", focused);
  node.dataset.label = label.id;
  return node;
}

/** @param {Value | undefined} value @param {(value: Value) => void} onChange */
function presenceSwitch(value, onChange) {
  const node = el("span", isOpen(value) ? "switch two open" : "switch two");
  for (const [option, text, tone] of /** @type {const} */ ([
    [true, "present", "present"],
    [false, "absent", "absent"],
  ])) {
    node.append(switchButton(text, option === value, option === value ? tone : "", () => onChange(option)));
  }
  return node;
}

/**
 * Create the steps of a scale. A mean between two steps marks both of them; neither is chosen.
 *
 * @param {Value | undefined} value
 * @param {{ min: number, max: number } | undefined} scale
 * @param {(value: Value) => void} onChange
 */
function ratingControl(value, scale, onChange) {
  const { min, max } = scale ?? { min: 1, max: 5 };
  if (max - min >= MAX_STEPS) {
    const input = el("input", { type: "number", min: String(min), max: String(max), value: String(value ?? "") });
    const change = () => {
      if (input.value !== "") onChange(Number(input.value));
    };
    input.onchange = () => setTimeout(change); // after the focus has moved, because the change redraws the form
    return input;
  }
  const node = el("span", isOpen(value) ? "switch open" : "switch");
  for (let step = min; step <= max; step++) {
    const near = isMean(value) && Math.abs(step - value) < 1;
    const tone = step === value ? "present" : near ? "near" : "";
    node.append(switchButton(String(step), step === value, tone, () => onChange(step)));
  }
  return node;
}

/** @param {string} text @param {boolean} pressed @param {string} tone @param {() => void} onClick */
function switchButton(text, pressed, tone, onClick) {
  return button({ className: tone, tabIndex: -1, ariaPressed: String(pressed) }, onClick, text);
}

/** @param {Value | undefined} value @returns {value is number} */
function isMean(value) {
  return typeof value === "number" && !Number.isInteger(value);
}

// Values of an item by role, as tiles

/**
 * Create a tile for each role that decided a label; in a choice, for those that chose it.
 *
 * @param {string} label
 * @param {ReviewDocument} document
 * @param {ReviewInfo} info
 */
function voteTiles(label, document, { roles, kind }) {
  const item = kind === "choice" ? "label" : label;
  return Object.entries(document.roles).flatMap(([role, values]) => {
    if (!(item in values) || (kind === "choice" && values[item] !== label)) return [];
    const { name, letter, colour } = findRole(roles, role);
    if (kind === "choice") return [voteTile(`present ${colour}`, letter, `${name} chooses it`)];
    const rating = formatRating(values[item]);
    if (kind === "rating") return [voteTile(`rating ${colour}`, `${letter} ${rating}`, `${name}: ${rating}`)];
    const vote = values[item] === true ? "present" : "absent";
    return [voteTile(`${vote} ${colour}`, letter, `${name}: ${vote}`)];
  });
}

/** @param {string} className @param {string} text @param {string} title */
function voteTile(className, text, title) {
  return el("span", { className: `vote ${className}${text.length > 1 ? " long" : ""}`, title }, text);
}

/**
 * Create the remarks on an item: its definition has changed, the reviewer changed it, it is unresolved, gold differs.
 *
 * @param {string} item
 * @param {ReviewDocument} document
 * @param {Labels} labels
 * @returns {Node[]}
 */
function itemRemarks(item, document, labels) {
  const { values, verdict, gold, edited, outdated, hidden } = document;
  const value = values[item];
  const remarks = [];
  if (outdated.includes(item)) remarks.push(el("span", "remark stale", "definition changed since"));
  if (edited.includes(item) && !isOpen(verdict[item]) && verdict[item] !== value) {
    remarks.push(el("span", "remark own", `changed from ${valueText(verdict[item], labels)}`));
  }
  if (isOpen(value) && !hidden) remarks.push(el("span", "remark unres", whyUnresolved(item, document, labels)));
  if (isMean(value)) remarks.push(el("span", "remark mean", `mean ${formatRating(value)}, kept if you submit`));
  if (item in gold && value !== null && value !== gold[item]) {
    remarks.push(el("span", "remark unres", `gold: ${valueText(gold[item], labels)}`));
  }
  return remarks;
}

/**
 * Return the reason of an unresolved item. If all items have the same reason, only the first open item shows it. The
 * error of a failed debate is above the text.
 *
 * @param {string} item
 * @param {ReviewDocument} document
 * @param {Labels} labels
 */
function whyUnresolved(item, { unresolved, values, error, ended }, labels) {
  if (error) return "debate failed";
  if (ended === "open") return "not debated yet";
  const reasons = Object.values(unresolved);
  const shared = reasons.length > 1 && new Set(reasons).size === 1;
  const first = [...labels.keys()].find((each) => each in unresolved && isOpen(values[each]));
  return (!shared || item === first ? unresolved[item] : "") || "unresolved";
}

// Panels below the text

/**
 * @typedef {object} Guideline
 * @property {string} text
 * @property {{ id: string, description: string, include: string[], exclude: string[], changed: boolean }[]} labels
 */

/** @param {Guideline} guideline @param {Labels} labels @param {string} focused */
export function guidelineNode(guideline, labels, focused) {
  const examples = (/** @type {string} */ name, /** @type {string[]} */ texts) =>
    texts.length
      ? el("span", "", `${name}: `, el("span", "example", texts.map((text) => `“${text}”`).join(", ")))
      : null;
  const definitions = guideline.labels.map(({ id, description, include, exclude, changed }) => {
    const name = labelName(findLabel(labels, id));
    if (changed) name.append(el("span", "badge stale", "changed since this run"));
    const node = el(
      "div",
      "definition",
      name,
      description ? el("p", "", description) : null,
      examples("Include", include),
      examples("Exclude", exclude),
    );
    node.classList.toggle("focused", id === focused);
    return node;
  });
  return el("div", "guideline", guideline.text ? el("p", "", guideline.text) : null, ...definitions);
}

/**
 * An event in the history of a document. `before` and `after` are values in words.
 *
 * @typedef {object} HistoryEntry
 * @property {number} at Unix seconds.
 * @property {string} who
 * @property {string} item
 * @property {string} before
 * @property {string} after
 * @property {number | null} version Of the codebook.
 * @property {number | null} seconds
 * @property {boolean} undone
 */

/** @param {HistoryEntry[]} entries */
export function historyNode(entries) {
  if (!entries.length) return el("div", "guideline", "No changes yet.");
  const nodes = entries.flatMap(({ at, who, item, before, after, version, seconds, undone }) => {
    const when = new Date(1000 * at);
    const time = el("time", { title: when.toDateString() }, formatTime(when, { seconds: true }));
    const unchanged = after ? `${after}, confirmed` : "";
    const change = before === after ? unchanged : `${before} → ${after}`;
    const details = [version ? `v${version}` : "", seconds ? formatDuration(seconds) : ""].filter(Boolean).join(", ");
    const text = ` ${[item, change].filter(Boolean).join(" ")}`;
    /** @type {Child} */
    const more = details ? el("span", "muted", `  ${details}`) : null;
    return [time, el("span", undone ? "undone" : "", el("b", "", who), text, more)];
  });
  return el("div", "history", ...nodes);
}
