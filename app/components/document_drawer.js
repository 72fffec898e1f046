// A document next to its list: text with evidence, all annotations, debates, guideline, history, notes.
//
// Arrow keys step through the list, Escape closes the drawer. The address of the page contains the open document.

import { Debate } from "./debate_state.js";
import { DebateView } from "./debate_view.js";
import { button, el, focusedIn, icon, keyHint, makeScrollable, ownsKey, scrollsByKey } from "./dom.js";
import { documentNodes, isSupported, unsupportedQuotes } from "./evidence.js";
import { formatCount } from "./format.js";
import { createLabels, disputedItems, labelName, valueText } from "./labels.js";
import { LiveClient } from "./live_client.js";
import { focusRow, lastListing, noteShown, onOpenRequest } from "./open_document.js";
import { MAX_NOTE, ReviewClient } from "./review_client.js";
import { guidelineNode, historyNode } from "./review_panels.js";
import { createRoles } from "./roles.js";
import { mountView, setParameters } from "./streamlit_bridge.js";

/** @import { DocumentData, RunInfo, TurnEvent, VerdictEvent } from "./debate_state.js" */
/** @import { Evidence } from "./evidence.js" */
/** @import { Kind, LabelData, Value, Values } from "./labels.js" */
/** @import { LiveEvent } from "./live_client.js" */
/** @import { DocumentListing } from "./open_document.js" */
/** @import { Guideline, HistoryEntry } from "./review_panels.js" */
/** @import { RoleData } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/** @typedef {{ id: string, live: string, title: string, roles: RoleData[] }} DrawerRun */
/**
 * @typedef {object} DrawerData
 * @property {string} project The name of the project for requests, without a run.
 * @property {DrawerRun[]} runs
 * @property {string} actor
 * @property {LabelData[]} labels
 * @property {Kind} kind
 * @property {boolean} inline True if the drawer is part of the page and shows only `document`.
 * @property {string | null} document The document to show.
 * @property {string} request Another value shows `document` again.
 * @property {{ act: string, text: string }[]} actions Buttons that notify the page.
 */
/**
 * @typedef {{ title: string, by: "gold" | "person" | "role" | "verdict", run: string, values: Values,
 *   failed?: boolean }} Annotations
 */
/** @typedef {{ run: string, events: (TurnEvent | VerdictEvent)[], active: boolean }} ShownDebate */
/** @typedef {{ who: string, note?: string, tags?: string[] }} Note */
/**
 * The studio's data on a document (`core/services/review/browser_data.py`).
 *
 * @typedef {DocumentData & { hidden: boolean, annotations: Annotations[], reference: Values, evidence: Evidence[],
 *   debates: ShownDebate[], history: HistoryEntry[], notes: Note[] }} DocumentView
 */
/** @typedef {{ document: DocumentView | null, guideline: Guideline }} Answer */

/**
 * Typed notes that are not saved, by project, reviewer and document. They outlast a drawer, which is replaced with each
 * change of the run or of the labels.
 *
 * @type {Map<string, string>}
 */
const drafts = new Map();
window.addEventListener("beforeunload", (event) => {
  if (drafts.size) event.preventDefault();
});
const TABS = /** @type {const} */ (["Debate", "Guideline", "History", "Notes"]);
const PARAMETER = "document";
const IN_FRONT = "[data-testid='stPopoverBody'], [role='dialog']"; // They take the keys first.
const BLIND =
  "Blind review: verdicts, gold and other reviews are shown after you submit, in a first review also after " +
  "“Show verdict” in Focus.";

class DrawerView {
  /** @param {HTMLElement} root @param {DrawerData} data */
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.labels = createLabels(data.labels);
    /** @type {string | null} */
    this.document = null;
    /** @type {DocumentListing} */
    this.listing = { ids: [], title: "" };
    /** @type {(typeof TABS)[number]} */
    this.tab = "Debate";
    this.wide = false;
    /** Requests by document. @type {Map<string, Promise<Answer>>} */
    this.answers = new Map();
    /** @type {LiveClient[]} */
    this.live = [];
    /** @type {HTMLTextAreaElement | null} */
    this.note = null;
    /** @type {string | null} */
    this.request = null;
    /** @type {(act: string) => void} */
    this.notify = () => {};
    this.state = el("span", "tiny muted");
    const run = data.runs[0]?.live ?? data.project;
    this.client = new ReviewClient({ run, actor: data.actor }, (_, text) => {
      this.state.textContent = text;
    });
    this.stopListening = () => {};
    if (data.inline) return;
    Object.assign(root, { popover: "manual", role: "complementary" });
    const stopRequests = onOpenRequest(({ id, ...listing }) => {
      if (id !== null) this.open(id, listing);
      else if (this.document !== null && listing.ids.includes(this.document)) {
        this.listing = listing;
        this.draw();
      }
    });
    const onKey = (/** @type {KeyboardEvent} */ event) => this.onKey(event);
    window.addEventListener("keydown", onKey, true);
    // Streamlit may hide the drawer with the page that the user leaves, instead of removing it.
    const observer = new ResizeObserver(() => noteOpen(this.document !== null && root.checkVisibility()));
    observer.observe(root);
    this.stopListening = () => {
      stopRequests();
      observer.disconnect();
      window.removeEventListener("keydown", onKey, true);
    };
  }

  /** @param {Component<DrawerData>} component */
  update({ data, setTriggerValue }) {
    this.notify = (act) => setTriggerValue("act", { act, document: this.document });
    this.data = data;
    this.answers.clear(); // the answers may be outdated
    const first = this.request === null;
    const asked = `${data.document} ${data.request}`;
    if (this.request !== asked) {
      this.request = asked;
      const named = first && !data.inline ? new URL(location.href).searchParams.get(PARAMETER) : null;
      if (data.document ?? named) this.open(data.document ?? named, first ? lastListing() : this.listing);
      return;
    }
    if (this.document !== null) this.draw();
  }

  /** @param {string | null} id @param {DocumentListing} listing */
  open(id, listing) {
    if (id === this.document && !this.data.inline) this.answers.delete(id ?? "");
    this.document = id;
    this.listing = listing;
    if (!this.data.inline) {
      setParameters({ [PARAMETER]: id });
      setOpen(this.root, id !== null);
      noteShown(id);
    }
    if (id === null) this.stopLive();
    else this.draw();
  }

  /** Close the drawer. If it has the focus, the document's row in a list gets it. */
  close() {
    const { document: id } = this;
    const hadFocus = focusedIn(this.root) !== null;
    this.open(null, this.listing);
    if (hadFocus) focusRow(id);
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const target = /** @type {Node} */ (event.composedPath()[0]);
    if (document.querySelector(IN_FRONT) && !this.root.contains(target)) return;
    if (this.document === null || !this.root.checkVisibility()) return;
    if (ownsKey(target, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") this.close();
    else if (scrollsByKey(target) && this.root.contains(target)) return;
    else if (event.key === "ArrowDown") this.step(1);
    else if (event.key === "ArrowUp") this.step(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} by */
  step(by) {
    const id = this.neighbour(by);
    if (id !== undefined) this.open(id, this.listing);
  }

  /** @param {number} by */
  neighbour(by) {
    const { ids } = this.listing;
    const place = ids.indexOf(this.document ?? "");
    return place < 0 ? undefined : ids[place + by];
  }

  /** @param {string} id */
  ask(id) {
    const known = this.answers.get(id);
    if (known) return known;
    const runs = this.data.runs.map((run) => run.id);
    const answer = this.client.query("view", { document: id, runs });
    this.answers.set(id, answer);
    return answer;
  }

  async draw() {
    const id = this.document;
    if (id === null) return;
    const answer = this.ask(id);
    if (this.shownId() !== id) this.showLoading(id);
    const view = await answer;
    if (id !== this.document || answer !== this.answers.get(id)) return; // closed, or asked again meanwhile
    this.show(id, view);
    for (const by of [1, -1]) {
      const next = this.neighbour(by);
      if (next !== undefined) this.ask(next);
    }
  }

  /** Return the id of the document that is drawn, also while the drawer is closed. */
  shownId() {
    const body = this.root.querySelector(".drawer-body");
    return body instanceof HTMLElement ? body.dataset.id : undefined;
  }

  /**
   * Show that a document is loading; style sheets hide this for the first moment.
   *
   * @param {string} id
   */
  showLoading(id) {
    this.stopLive();
    const status = el("p", { className: "secondary small", role: "status" }, "Loading the document …");
    const lines = el("div", "drawer-lines", el("i"), el("i"), el("i"));
    makeScrollable(lines, "Document"); // keeps the focus of the text that it replaces
    const body = el("div", "drawer-body loading", status, this.state, lines);
    this.root.ariaBusy = "true";
    const focused = focusedIn(this.root);
    this.root.replaceChildren(...(this.data.inline ? [] : [this.head(id, null)]), body);
    this.restoreFocus(focused);
  }

  /** @param {string} id @param {Answer} answer */
  show(id, { document, guideline }) {
    this.stopLive();
    const body = el("div", "drawer-body");
    const focused = focusedIn(this.root);
    const top = this.shownId() === id ? (this.root.querySelector(".drawer-body")?.scrollTop ?? 0) : 0;
    body.dataset.id = id;
    if (!document) body.append(el("p", "secondary", "This document does not exist, or another project is open."));
    else body.append(...this.bodyNodes(document, guideline));
    Object.assign(this.root, { ariaBusy: null, ariaLabel: `Document ${id}` });
    this.root.classList.toggle("inline", this.data.inline);
    this.root.classList.toggle("wide", this.wide);
    this.root.replaceChildren(...(this.data.inline ? [] : [this.head(id, document)]), body);
    body.scrollTop = top;
    this.restoreFocus(focused);
  }

  /**
   * Move the focus to the note that had it, or to the button or region that replaces the one that had it.
   *
   * @param {HTMLElement | null} focused
   */
  restoreFocus(focused) {
    const nameOf = (/** @type {Element} */ node) => node.getAttribute("name") ?? node.ariaLabel;
    const name = focused && nameOf(focused);
    /** @type {NodeListOf<HTMLElement>} */
    const nodes = this.root.querySelectorAll("button, [role='region']");
    const again = name && [...nodes].find((node) => nameOf(node) === name);
    (again || focused)?.focus({ preventScroll: true });
  }

  /** @param {string} id @param {DocumentView | null} document */
  head(id, document) {
    const { ids, title } = this.listing;
    const place = ids.indexOf(id);
    const where =
      place < 0 ? (document?.note ?? "") : `${formatCount(place + 1)} of ${formatCount(ids.length)} in ${title}`;
    const arrow = (/** @type {string} */ key, /** @type {string} */ ariaLabel, /** @type {number} */ by) => {
      const disabled = this.neighbour(by) === undefined;
      return button({ className: "button ghost", disabled, ariaLabel, name: key }, () => this.step(by), keyHint(key));
    };
    const setWidth = () => {
      this.wide = !this.wide;
      this.draw();
    };
    const wide = button({ className: "button ghost", name: "width" }, setWidth, this.wide ? "Narrow" : "Wide");
    const closing = { className: "button ghost close", ariaLabel: "Close", title: "Close (Escape)" };
    const close = button(closing, () => this.close(), icon("close"));
    const placing = el("span", { className: "tiny secondary ellipsis", title: document?.note ?? "" }, where);
    const steps = place < 0 ? [] : [arrow("↑", "Previous document", -1), arrow("↓", "Next document", 1)];
    const name = el("b", "mono ellipsis", id);
    return el("div", "panel-head", name, placing, el("span", "row push", ...steps, wide, close));
  }

  /** @param {DocumentView} document @param {Guideline} guideline @returns {Node[]} */
  bodyNodes(document, guideline) {
    const { labels } = this;
    const opinions = document.annotations.filter(({ by }) => by === "role" || by === "verdict");
    const disputed = disputedItems(opinions.map(({ values }) => values));
    const unsupported = unsupportedQuotes(document.evidence, labels);
    const text = el("div", "drawer-text", ...documentNodes(document.fields, document.evidence, labels, disputed));
    makeScrollable(text, "Document");
    const veil = document.hidden ? el("p", "veil", icon("eye"), BLIND) : null;
    const table = document.annotations.length ? this.table(document) : null;
    const nodes = [text, unsupported, veil, table, this.tabs(document, guideline), this.foot()];
    return nodes.filter((node) => node !== null);
  }

  /** @param {DocumentView} document */
  table({ annotations, reference, evidence }) {
    const { labels } = this;
    const choice = this.data.kind === "choice";
    const found = (/** @type {string} */ item) =>
      new Set(
        evidence.filter((one) => one.item === item && isSupported(one)).map(({ start, end }) => `${start}:${end}`),
      );
    const rows = choice
      ? [{ id: "label", node: el("span", "", "Label") }]
      : [...labels.values()].map((label) => ({ id: label.id, node: labelName(label) }));
    const heads = annotations.map(({ title: given, by, run }) => {
      const title = this.runTitle(run) || given;
      const isOnlyVerdict = by === "verdict" && this.data.runs.length === 1;
      return el("th", { className: by, title }, el("span", "", isOnlyVerdict ? "Verdict" : title));
    });
    const counts = rows.map(({ id }) => found(id).size);
    const quoted = !choice && counts.some((count) => count > 0);
    const head = el("tr", "", el("th", "", "Label"), ...heads, quoted ? el("th", "", el("span", "", "Quotes")) : null);
    const lines = rows.map(({ id, node }, row) => {
      const cells = annotations.map(({ by, values, failed }) => {
        const value = values[id];
        const wrong = (by === "role" || by === "verdict") && isWrong(value, reference[id]);
        const missing = !(id in values) || (value === null && by !== "verdict");
        const text = missing ? "" : value === null ? (failed ? "failed" : "unresolved") : valueText(value, labels);
        const shown = text && typeof value === "boolean" ? el("span", `flag ${text}`, text) : text;
        return el("td", wrong ? "wrong bold" : value === false ? "muted" : value === null ? "unres" : "", shown);
      });
      const last = quoted ? el("td", "secondary", counts[row] ? formatCount(counts[row]) : "") : null;
      return el("tr", "", el("td", "", node), ...cells, last);
    });
    const node = el("div", "drawer-table", el("table", "", el("thead", "", head), el("tbody", "", ...lines)));
    makeScrollable(node, "Labels");
    return node;
  }

  /** @param {string} id */
  runTitle(id) {
    return this.data.runs.find((run) => run.id === id)?.title ?? "";
  }

  /** @param {DocumentView} document @param {Guideline} guideline */
  tabs(document, guideline) {
    const { debates, history, notes, hidden } = document;
    const counts = { Debate: 0, Guideline: 0, History: history.length, Notes: notes.length };
    const names = TABS.filter((name) => name !== "Debate" || debates.length);
    const open = names.includes(this.tab) ? this.tab : names[0];
    const buttons = names.map((name) => {
      const several = name === "Debate" && debates.length > 1 ? "Debates" : name;
      const title = counts[name] ? `${several} ${counts[name]}` : several;
      const show = () => {
        this.tab = name;
        this.draw();
      };
      return button({ ariaPressed: String(name === open), name }, show, title);
    });
    const content =
      open === "Debate"
        ? this.debatesNode(document)
        : open === "Guideline"
          ? guidelineNode(guideline, this.labels, "")
          : open === "History"
            ? historyNode(history)
            : this.notesNode(document, hidden);
    return el("div", "drawer-more", el("div", "segmented", ...buttons), content);
  }

  /** @param {DocumentView} document */
  debatesNode({ id, debates }) {
    const columns = debates.map(({ run, events, active }) => {
      const own = this.data.runs.find((one) => one.id === run);
      /** @type {RunInfo} */
      const info = { labels: this.labels, roles: createRoles(own?.roles ?? []), kind: this.data.kind };
      let view = new DebateView(new Debate(id, info));
      const empty = el(
        "p",
        "secondary small",
        active ? "The debate has not begun yet." : "No debate on this document yet.",
      );
      const body = el("div", "", empty);
      const show = (/** @type {LiveEvent} */ event) => {
        if (event.kind === "run_status" || event.kind === "tile" || event.document_id !== id) return;
        if (event.kind === "restart") view = new DebateView(new Debate(id, info));
        else view.show(event);
        if (view.node.parentNode !== body) body.replaceChildren(view.node);
      };
      events.forEach(show);
      if (active && own) this.follow(own.live, id, show);
      return el("div", "drawer-debate", debates.length > 1 ? el("h3", "", this.runTitle(run)) : null, body);
    });
    return el("div", debates.length > 1 ? "drawer-debates several" : "drawer-debates", ...columns);
  }

  /** @param {string} run @param {string} document @param {(event: LiveEvent) => void} show */
  follow(run, document, show) {
    const client = new LiveClient({
      run,
      onMessage: () => {
        for (const message of client.read()) if ("events" in message) message.events.forEach(show);
      },
    });
    this.live.push(client);
    client.follow(document);
    client.connect();
  }

  stopLive() {
    for (const client of this.live.splice(0)) client.close();
  }

  /** @param {DocumentView} document @param {boolean} hidden */
  notesNode({ id, notes }, hidden) {
    const { actor } = this.data;
    const others = notes.filter(({ who }) => who !== actor);
    const own = notes.find(({ who }) => who === actor);
    const lines = [...others, ...(own?.tags?.length ? [{ who: actor, tags: own.tags }] : [])].map(
      ({ who, note, tags }) =>
        el("p", "", el("b", "", who), ` ${[note, tags?.join(", ")].filter(Boolean).join(" · ")}`),
    );
    const nodes = lines.length || hidden ? lines : [el("p", "secondary small", "No notes by others.")];
    if (!this.data.runs.length) return el("div", "drawer-notes", ...nodes);
    const note = this.noteField(id, own?.note ?? "");
    const save = button({ className: "button", name: "save" }, () => this.saveNote(id, note.value), "Save note");
    return el("div", "drawer-notes", ...nodes, note, el("div", "row", save, this.state));
  }

  /**
   * Return the text area of the note; the same one for the same document, because the user may be typing.
   *
   * @param {string} id
   * @param {string} stored
   */
  noteField(id, stored) {
    const key = this.draftKey(id);
    if (this.note?.dataset.id !== id) {
      this.note = el("textarea", {
        maxLength: MAX_NOTE,
        placeholder: "Reason for these labels",
        ariaLabel: "Your note",
      });
      this.note.dataset.id = id;
    }
    const { note } = this;
    note.defaultValue = stored;
    note.value = drafts.get(key) ?? stored;
    note.oninput = () => {
      if (note.value === note.defaultValue) drafts.delete(key);
      else drafts.set(key, note.value);
    };
    return note;
  }

  /** @param {string} document */
  draftKey(document) {
    return JSON.stringify([this.data.project, this.data.actor, document]);
  }

  /** @param {string} document @param {string} value */
  async saveNote(document, value) {
    const saved = await this.client.act("note", { document, value: value.trim() || null });
    if (!saved) return;
    const key = this.draftKey(document);
    if (drafts.get(key) === value) drafts.delete(key); // else more was typed meanwhile
    this.answers.delete(document);
    this.draw();
  }

  foot() {
    const { actions } = this.data;
    if (!actions.length) return null;
    return el(
      "div",
      "row",
      ...actions.map(({ act, text }) => button({ className: "button", name: act }, () => this.notify(act), text)),
    );
  }

  destroy() {
    this.stopLive();
    this.client.close();
    this.stopListening();
    if (!this.data.inline && this.document !== null) {
      setOpen(this.root, false);
      noteShown(null);
    }
  }
}

/**
 * Return true if an annotation differs from the reference, for ratings by one point or more.
 *
 * @param {Value | undefined} value
 * @param {Value | undefined} reference
 */
export function isWrong(value, reference) {
  if (value === null || value === undefined || reference === null || reference === undefined) return false;
  if (typeof value === "number" && typeof reference === "number") return Math.abs(value - reference) >= 1;
  return value !== reference;
}

/**
 * Open or close the drawer, in the top layer of the page, where no part of the page covers it.
 *
 * @param {HTMLElement} root
 * @param {boolean} on
 */
function setOpen(root, on) {
  if (root.isConnected && on !== root.matches(":popover-open")) root.togglePopover(on);
  noteOpen(on);
}

/**
 * Make room for the drawer on the page, or take it back.
 *
 * @param {boolean} on
 */
function noteOpen(on) {
  document.documentElement.classList.toggle("moot-drawer-open", on);
}

/** @param {Component<DrawerData>} component */
export default function (component) {
  const { runs, actor, labels, kind, inline, project } = component.data;
  return mountView(
    component,
    [runs, actor, labels, kind, inline, project],
    (root) => new DrawerView(root, component.data),
  );
}
