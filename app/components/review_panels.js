// The pieces of the Focus view, each a function of plain data to a node. Texts reach the page through textContent only.

import { el } from "./dom.js";
import { numeral } from "./format.js";
import { drawDocument } from "./highlighting.js";
import { labelOf } from "./labels.js";
import { avatar, roleOf } from "./roles.js";

export const key = (text) => el("span", "kbd", text);

export function badgeOf(reason) { return el("span", `badge ${reason.tone || ""}`, reason.word); }

export function button(cls, label, keyName, act) {
  const node = el("button", `btn ${cls}`, label, keyName ? key(keyName) : null);
  node.type = "button";
  node.onclick = act;
  return node;
}

export function queueItem(row, on, open) {
  const settled = row.status === "Submitted" || row.status === "Discarded";
  const time = settled && row.at ? ` ${new Date(row.at * 1000).toTimeString().slice(0, 5)}` : "";
  const badges = row.reasons.map(badgeOf);
  if (row.draw && row.draw.how === "audit") badges.push(el("span", "badge", "random audit"));
  if (row.skip && !settled) badges.push(el("span", "badge", "put off"));
  const node = el("button", `qi${on ? " on" : ""}${settled ? " done" : ""}`,
    el("span", "row", el("span", "id", row.id), el("span", "st", row.status + time)),
    el("span", "t", row.opening),
    badges.length ? el("span", "badges", ...badges) : null);
  node.type = "button";
  node.dataset.id = row.id;
  node.tabIndex = -1;
  if (on) node.setAttribute("aria-current", "true");
  node.onclick = open;
  return node;
}

// The text with its evidence. Quotes that are not in it are struck through in the table below.
export function textOf(doc, labels, disputed) {
  const fields = Object.entries(doc.fields);
  const nodes = [];
  for (const [name, text] of fields) {
    if (fields.length > 1) nodes.push(el("h3", "", name));
    const body = el("div", "doc");
    const spans = doc.evidence.filter((e) => e.start >= 0 && e.match !== "missing" && (e.field === name || fields.length === 1));
    drawDocument(body, text, spans.map((e) => ({ ...e, disputed: disputed.has(e.item) })), labels);
    nodes.push(body);
  }
  return el("div", "text", ...nodes);
}

export function evidenceOf(doc, labels, roles, kind) {
  const rows = new Map();
  for (const e of doc.evidence) {
    const id = [e.item, e.field, e.start, e.quote].join("\u0000");
    if (!rows.has(id)) rows.set(id, { ...e, by: [] });
    rows.get(id).by.push(e.role);
  }
  if (!rows.size) return null;
  const lines = [...rows.values()].sort((a, b) => (a.match === "missing" ? -1 : 0) - (b.match === "missing" ? -1 : 0) || a.start - b.start);
  return el("table", "evt",
    el("thead", "", el("tr", "", ...["Evidence", "Quoted", "By", "Found in text"].map((name) => el("th", "", name)))),
    el("tbody", "", ...lines.map((e) => {
      const label = labelOf(labels, e.item);
      const gone = e.match === "missing";
      const place = gone ? el("span", "wrong", "not in the text") : el("span", "t2", e.match, el("span", "at", `, ${e.start} to ${e.end}`));
      return el("tr", "",
        el("td", "", el("span", `lab l${label.colour}`, el("span", "sq"), el("span", "ell", label.name))),
        el("td", "", el("span", gone ? "gone qt" : `ev qt l${label.colour}`, e.quote)),
        el("td", "", el("span", "row", ...[...new Set(e.by)].map((role) => avatar(roleOf(roles, role), "s")))),
        el("td", "", place));
    })));
}

// ---- the form: what a person decides. change(item, value)

function sayers(doc, item, labels, roles, kind, labelId) {
  const tiles = [];
  for (const [role, values] of Object.entries(doc.roles)) {
    if (!(item in values)) continue;
    const r = roleOf(roles, role), value = values[item];
    const yes = kind === "choice" ? value === labelId : value === true;
    if (kind === "choice" && !yes) continue;
    const tile = kind === "rating" ? el("span", `p v ${r.colour}`, `${r.letter} ${numeral(value)}`) : el("span", `p ${yes ? "y" : "n"} ${r.colour}${r.letter.length > 1 ? " two" : ""}`, r.letter);
    tile.title = kind === "rating" ? `${r.name}: ${numeral(value)}` : `${r.name}: ${yes ? (kind === "choice" ? "chooses it" : "present") : "absent"}`;
    tiles.push(tile);
  }
  return tiles;
}

const worded = (value, labels) => (value === null || value === undefined ? "undecided" : value === true ? "present" : value === false ? "absent" : labels.has(value) ? labels.get(value).name : numeral(value));

// One reason for all of them is told once, with the first that is still open.
function whyUnread(doc, item) {
  const first = Object.keys(doc.unread).find((each) => (doc.values[each] ?? null) === null);
  const shared = new Set(Object.values(doc.unread)).size === 1;
  return (shared && item !== first ? "" : doc.unread[item]) || "no verdict: decide";
}

// What there is to know beside an item: changed by the person, stale, unread, gold.
function remarks(doc, item, labels) {
  const found = [];
  const now = doc.values[item], verdict = doc.verdict[item];
  if (doc.stale.includes(item)) found.push(el("span", "was old", "definition changed since"));
  if (doc.own.includes(item) && verdict !== undefined && verdict !== null && verdict !== now) found.push(el("span", "was", `you: was ${worded(verdict, labels)}`));
  if ((now === null || now === undefined) && !doc.hidden) found.push(el("span", "was unread", whyUnread(doc, item)));
  if (between(now)) found.push(el("span", "was mean", `verdict ${numeral(now)}, stands if you submit`));
  if (item in doc.gold && now !== null && now !== doc.gold[item]) found.push(el("span", "was unread", `gold says ${worded(doc.gold[item], labels)}`));
  return found;
}

function formRow(label, digit, tiles, notes, control, focused) {
  const node = el("div", `vf l${label.colour}${focused ? " foc" : ""}`,
    digit ? key(digit) : el("span"),
    el("div", "nm", el("span", "lab", el("span", "sq"), el("span", "ell", label.name)), tiles.length || notes.length ? el("div", "who", ...tiles, ...notes) : null),
    control);
  node.dataset.label = label.id;
  return node;
}

// A mean of several raters may lie between two steps: neither is chosen, both are marked as its neighbours.
const between = (value) => typeof value === "number" && !Number.isInteger(value);

function switchOf(options, value, change, cls) {
  const node = el("span", `sw ${cls || ""}${value === null || value === undefined ? " open" : ""}`);
  for (const [option, word, tone] of options) {
    const near = between(value) && Math.abs(option - value) < 1;
    const one = el("button", option === value ? tone : near ? "near" : "", word);
    one.type = "button";
    one.tabIndex = -1;
    one.setAttribute("aria-pressed", option === value ? "true" : "false");
    one.onclick = () => change(option);
    node.append(one);
  }
  return node;
}

export function formRows(doc, book, at, change) {
  const { labels, roles, kind, scale } = book;
  const all = [...labels.values()];
  if (kind === "choice") {
    const notes = remarks(doc, "label", labels);
    const rows = all.map((label, index) => {
      const on = doc.values.label === label.id;
      const radio = el("button", `radio${on ? " y" : ""}`);
      radio.type = "button";
      radio.tabIndex = -1;
      radio.setAttribute("role", "radio");
      radio.setAttribute("aria-checked", on ? "true" : "false");
      radio.setAttribute("aria-label", label.name);
      radio.onclick = () => change("label", label.id);
      return formRow(label, label.digit, sayers(doc, "label", labels, roles, kind, label.id), on ? notes : [], radio, index === at);
    });
    if (notes.length && !labels.has(doc.values.label)) rows.unshift(el("div", "part", ...notes));
    return rows;
  }
  return all.map((label, index) => {
    const value = doc.values[label.id];
    const tell = (next) => change(label.id, next);
    let control;
    if (kind === "multilabel") control = switchOf([[true, "present", "y"], [false, "absent", "n"]], value, tell, "two");
    else if (scale.max - scale.min < 10) {
      const steps = Array.from({ length: scale.max - scale.min + 1 }, (_, i) => scale.min + i);
      control = switchOf(steps.map((step) => [step, String(step), "y"]), value, tell);
    } else {
      control = el("input", "");
      Object.assign(control, { type: "number", min: scale.min, max: scale.max, value: value ?? "" });
      control.onchange = () => { if (control.value !== "") tell(Number(control.value)); };
    }
    const digit = kind === "rating" ? "" : label.digit;
    return formRow(label, digit, sayers(doc, label.id, labels, roles, kind), remarks(doc, label.id, labels), control, index === at);
  });
}

// ---- what folds out below the text

export function guidelineOf(told, labels, focused) {
  const nodes = told.text ? [el("p", "", told.text)] : [];
  for (const one of told.labels) {
    const label = labelOf(labels, one.id);
    nodes.push(el("div", `one l${label.colour}${one.id === focused ? " foc" : ""}`,
      el("span", "lab", el("span", "sq"), el("b", "", label.name), one.changed ? el("span", "badge stale", "changed since this run") : null),
      one.description ? el("p", "", one.description) : null,
      one.include.length ? el("span", "", "includes ", el("span", "ex", one.include.map((each) => `“${each}”`).join(", "))) : null,
      one.exclude.length ? el("span", "", "excludes ", el("span", "ex", one.exclude.map((each) => `“${each}”`).join(", "))) : null));
  }
  return el("div", "gl", ...nodes);
}

export function historyOf(entries) {
  if (!entries.length) return el("div", "gl", "No changes yet.");
  return el("div", "hist", ...entries.flatMap((entry) => {
    const when = new Date(entry.at * 1000);
    const time = el("time", "", when.toTimeString().slice(0, 8));
    time.title = when.toDateString();
    const change = entry.before === entry.after ? (entry.after ? `${entry.after}, confirmed` : "") : `${entry.before} → ${entry.after}`;
    const more = [entry.version ? `v${entry.version}` : "", entry.seconds ? `${Math.round(entry.seconds)} s` : ""].filter(Boolean).join(", ");
    return [time, el("span", entry.undone ? "undone" : "", el("b", "", entry.who), ` ${[entry.item, change].filter(Boolean).join(" ")}`, more ? el("span", "t3", `  ${more}`) : null)];
  }));
}
