// A live run: its counters, one complete debate, and tiles of the other debates. The separate connection
// (live_client.js) is independent of reruns of the page.

import { Debate } from "./debate_state.js";
import { DebateTiles } from "./debate_tiles.js";
import { DebateView } from "./debate_view.js";
import { DrawScheduler } from "./draw_scheduler.js";
import { button, el, icon, keyHint, makeScrollable, ownsKey, scrollsByKey, setText } from "./dom.js";
import { documentNodes } from "./evidence.js";
import { FinishedList } from "./finished_list.js";
import { formatCount, formatPlural } from "./format.js";
import { labelTable } from "./label_table.js";
import { createLabels } from "./labels.js";
import { LiveClient } from "./live_client.js";
import { chain, protocolDiagram } from "./protocol_diagram.js";
import { Replay } from "./replay.js";
import { avatar, createRoles } from "./roles.js";
import { countEnded, describeState, isActive, isOver, RunCounters } from "./run_counters.js";
import { mountView, notifyWhenIdle } from "./streamlit_bridge.js";

/** @import { DocumentData, RunInfo, TurnEvent } from "./debate_state.js" */
/** @import { Kind, LabelData } from "./labels.js" */
/** @import { ConnectionState, FinishedPage, FinishedQuery, LiveEvent, LiveMessage, RunStatusEvent, Snapshot } from "./live_client.js" */
/** @import { Layout } from "./protocol_diagram.js" */
/** @import { RoleData } from "./roles.js" */
/** @import { Component } from "./streamlit_bridge.js" */

/**
 * @typedef {object} LiveRunData
 * @property {string} run
 * @property {LabelData[]} labels
 * @property {RoleData[]} roles
 * @property {Kind} kind
 * @property {string} state The state of the run as the page shows it.
 * @property {number | null} budget
 * @property {number} slots The number of tiles.
 * @property {boolean} explained True if the page explains why the run is not active.
 * @property {Layout} layout
 */
/** @typedef {"live" | "finished"} Mode */

// Milliseconds for which a finished debate stays before another one is shown.
const DWELL_MS = 2600;
const DWELL_AFTER_KEY_MS = 9000;
const RELIST_MS = 4000; // Milliseconds between two updates of the list of finished debates.
const MAX_NAMED = 6; // Roles that the head of the debate names; the menu Roles names all.
const SMALLEST_HEIGHT = 620;
const BELOW = 84; // Height for the button of the next step, which is under the panels.
const NARROW_WIDTH = 1160; // Below it, the panel of all debates is under the other two.

class LiveRunView {
  /** @param {HTMLElement} root @param {Component<LiveRunData>} component */
  constructor(root, component) {
    this.root = root;
    this.component = component;
    const { data } = component;
    /** @type {RunInfo} */
    this.run = { labels: createLabels(data.labels), roles: createRoles(data.roles), kind: data.kind };
    /** @type {RunStatusEvent | null} */
    this.status = null;
    /** The shown debate. @type {DebateView | null} */
    this.view = null;
    /** @type {Replay | null} */
    this.replay = null;
    this.dwell = DWELL_MS;
    this.documentChanged = true;
    this.shownDocument = "";
    this.followsEnd = true; // the turns are scrolled to their end
    this.turnedToFinished = false; // automatically, because no debate was in progress
    this.notifiedState = "";
    this.refused = false;
    this.gone = false;
    /** The studio's id of the state of the run in the last snapshot. */
    this.instance = "";
    /** Number of finished debates and time of the last request of the list. */
    this.listed = { count: -1, at: 0 };
    this.width = 0;
    const kept = this.loadSettings();
    this.pinned = kept.pinned ?? false;
    this.hiddenRoles = new Set(kept.hidden);
    /** @type {Mode} */
    this.mode = kept.mode ?? "live";
    this.scheduler = new DrawScheduler(() => this.readMessages(), {
      counters: () => this.drawCounters(),
      tiles: () => this.drawTiles(),
      debate: () => this.drawDebate(),
    });
    this.client = new LiveClient({
      run: data.run,
      onMessage: () => this.receive(),
      onConnection: (state, seconds) => this.showConnection(state, seconds),
    });

    this.counters = new RunCounters();
    this.tiles = new DebateTiles(this.run, (id) => this.pick(id));
    this.finished = new FinishedList(this.run, {
      onQuery: (query) => this.requestFinished(query),
      onPick: (id) => this.pick(id),
    });
    this.announcer = el("div", { className: "visually-hidden", role: "status" });
    // The document
    this.documentId = el("span", "mono bold ellipsis");
    this.documentNote = el("span", "secondary small ellipsis grow");
    this.documentLength = el("span", "muted tiny");
    this.document = el("div", "document-scroll scroll");
    this.labelTable = el("div", "label-table");
    makeScrollable(this.labelTable, "Current labels");
    // The debate
    this.connection = el("span", "badge unres hidden");
    this.replayButton = button("button ghost hidden", () => (this.replay ? this.showAgain() : this.startReplay()));
    this.pinButton = button("button ghost", () => this.pin(!this.pinned));
    this.diagram = el("div", { className: "diagram hidden", ariaLabel: "Structure of the debate" });
    this.turns = el("div", "turns scroll");
    // All debates
    this.overviewTitle = el("h2");
    this.overviewCount = el("span", "badge");
    this.liveButton = button("", () => this.switchMode("live"), "Live");
    this.finishedButton = button("", () => this.switchMode("finished"), "Finished");

    this.build();
    this.setMode(this.mode);
    this.show(kept.focus ?? null);
    this.fit();

    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.leaveTimer = undefined;
    this.clock = setInterval(() => this.tick(), 1000);
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    window.addEventListener("resize", () => this.fit(), { signal });
    root.addEventListener("keydown", (event) => this.handleKey(event), { signal });
    this.client.connect();
  }

  destroy() {
    clearInterval(this.clock);
    clearTimeout(this.leaveTimer);
    this.replay?.stop();
    this.scheduler.stop();
    this.listeners.abort();
    this.client.close();
  }

  /** @param {Component<LiveRunData>} component */
  update(component) {
    this.component = component;
    this.scheduler.mark("counters");
  }

  get data() {
    return this.component.data;
  }

  /** The id of the shown debate. */
  get shownId() {
    return this.view?.debate.id ?? null;
  }

  // Settings of this tab, kept after a reload and on other pages.

  /** @returns {{ focus?: string | null, pinned?: boolean, hidden?: string[], mode?: Mode }} */
  loadSettings() {
    try {
      return JSON.parse(sessionStorage.getItem(`moot:${this.data.run}`) ?? "{}");
    } catch {
      return {};
    }
  }

  saveSettings() {
    const { pinned, mode } = this;
    const settings = { focus: this.shownId, pinned, hidden: [...this.hiddenRoles], mode };
    try {
      sessionStorage.setItem(`moot:${this.data.run}`, JSON.stringify(settings));
    } catch {
      // A private window may have no storage.
    }
  }

  // Nodes

  build() {
    const columns = el("div", "columns", this.documentPanel(), this.debatePanel(), this.overviewPanel());
    this.root.replaceChildren(this.announcer, this.counters.node, this.counters.notice, columns);
    makeScrollable(this.root, "Live run");
  }

  documentPanel() {
    makeScrollable(this.document, "Document");
    const head = el("div", "panel-head", this.documentId, this.documentNote, this.documentLength);
    return panel("Document and current labels", head, this.document, this.labelTable);
  }

  debatePanel() {
    const { roles } = this.run;
    const order = el("div", "role-order");
    if (roles.size <= MAX_NAMED) {
      const names = [...roles.values()].map((role) =>
        el("span", "", avatar(role, { small: true }), el("span", "ellipsis", role.name)),
      );
      order.append(...(this.data.layout === "chain" ? chain(names) : names));
    }
    const menu = this.rolesMenu();
    const roleButton = button({ className: "button", popoverTargetElement: menu }, () => {}, icon("eye"), "Roles");
    menu.onbeforetoggle = ({ newState }) => {
      // Chromium restores the focus after Escape only outside a shadow root.
      if (newState === "closed" && menu.matches(":focus-within")) roleButton.focus();
    };
    const buttons = el("div", "row push", this.replayButton, this.pinButton, roleButton, menu);
    const head = el("div", "panel-head debate-head", el("h2", "", "Debate"), order, this.connection, buttons);
    makeScrollable(this.turns, "Turns");
    this.turns.onscroll = () => {
      this.followsEnd = this.isAtEnd();
    };
    const keys = [keyHint("←"), keyHint("→"), el("span", "", "debates"), keyHint("Space"), el("span", "", "pin")];
    return panel("Debate", head, this.diagram, this.turns, el("div", "legend row tiny muted", ...keys));
  }

  overviewPanel() {
    const modes = el("span", "segmented", this.liveButton, this.finishedButton);
    const head = el("div", "panel-head", this.overviewTitle, this.overviewCount, el("div", "row push", modes));
    return panel("All debates", head, this.tiles.node, this.tiles.empty, this.finished.node);
  }

  fit() {
    const { clientWidth: width } = this.root;
    if (this.width !== width) this.tiles.columns = 0;
    this.width = width;
    const scrolled = document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0;
    const room = window.innerHeight - this.root.getBoundingClientRect().top - scrolled - BELOW;
    this.root.style.height = width >= NARROW_WIDTH ? `${Math.max(room, SMALLEST_HEIGHT)}px` : "";
  }

  // Messages of the studio

  receive() {
    this.refused = false;
    this.announceConnection("");
    if (document.hidden)
      this.readMessages(); // hidden pages draw no frames
    else if (this.client.inbox.at(-1)?.type === "finished")
      this.scheduler.show(); // without delay, as the user waits for the list
    else this.scheduler.mark();
  }

  /** @param {ConnectionState} state @param {number} seconds */
  showConnection(state, seconds) {
    if (state === "open" && this.mode === "finished") this.finished.request();
    if (state === "lost")
      this.announceConnection(`The studio does not answer. Next attempt in ${Math.ceil(seconds)} s.`);
    if (state === "refused") {
      this.refused = true;
      this.scheduler.mark("counters");
    }
  }

  /** @param {string} text */
  announceConnection(text) {
    if (this.connection.textContent === text) return;
    setText(this.connection, text);
    setText(this.announcer, text);
    this.connection.classList.toggle("hidden", !text);
  }

  readMessages() {
    for (const message of this.client.read()) this.handle(message);
  }

  /** @param {LiveMessage} message */
  handle(message) {
    switch (message.type) {
      case "gone":
        this.gone = true;
        this.scheduler.mark("counters", "debate");
        return;
      case "finished":
        this.showFinished(message);
        return;
      case "snapshot":
        this.applySnapshot(message);
    }
    for (const event of message.events) this.apply(event);
    if (message.type === "snapshot") this.instance = message.instance;
    if (this.instance) this.chooseDebate();
  }

  /** @param {Snapshot} snapshot */
  applySnapshot({ instance, document, events }) {
    this.gone = false;
    // After a restart, the studio no longer has replies that were being written.
    if (this.instance && this.instance !== instance) this.showAgain();
    if (document && document.id === this.shownId) this.setDocument(document);
    this.tiles.removeUnfinished(new Set(events.flatMap((event) => (event.kind === "tile" ? [event.document_id] : []))));
  }

  /** @param {LiveEvent} event */
  apply(event) {
    switch (event.kind) {
      case "run_status":
        this.setStatus(event);
        break;
      case "tile":
        this.tiles.set(event, Math.max(this.data.slots, this.status?.in_flight ?? 0), this.shownId);
        this.scheduler.mark("tiles");
        break;
      case "restart":
        if (event.document_id === this.shownId && !this.replay) this.show(event.document_id);
        break;
      case "turn":
        if (!this.replay) this.showTurn(event); // a replay ends with a fresh snapshot
        break;
      case "verdict":
        if (event.document_id !== this.view?.debate.id || this.replay) return;
        if (!this.view.debate.verdict) this.leaveLater();
        this.view.showVerdict(event);
        this.scrollToEnd();
        this.scheduler.mark("debate", "tiles");
    }
  }

  /** @param {RunStatusEvent} status */
  setStatus(status) {
    const before = this.status?.state;
    this.status = status;
    this.counters.addSample(status);
    this.scheduler.mark("counters");
    this.root.classList.toggle("idle", !isActive(status));
    if (isOver(status)) {
      this.tiles.removeUnfinished(new Set());
      this.scheduler.mark("tiles");
    }
    if (this.turnedToFinished && status.state === "running") this.switchMode("live");
    this.listFinishedAgain(before !== status.state);
    this.notifyState(status.state);
    if (before && before !== status.state) setText(this.announcer, `The run is ${status.state}`);
  }

  /**
   * Rerun the page when the state differs from the shown state, because its buttons depend on the state.
   *
   * @param {RunStatusEvent["state"]} state
   */
  notifyState(state) {
    if (state === this.data.state) this.notifiedState = "";
    else if (this.data.state && state !== this.notifiedState) {
      this.notifiedState = state;
      notifyWhenIdle(this.root, () => this.component.setTriggerValue("state", state));
    }
  }

  /** @param {DocumentData} document */
  setDocument(document) {
    if (!this.view) return;
    this.view.debate.document = document;
    this.documentChanged = true;
    this.scheduler.mark("debate");
  }

  /** @param {TurnEvent} event */
  showTurn(event) {
    if (!this.view) return;
    const known = this.view.debate.turns.get(event.turn);
    this.view.showTurn(event);
    if (event.done || !known) this.documentChanged = true; // to mark its evidence, and that of the label it is about
    if (known?.done !== event.done || known.waiting !== event.waiting) this.scheduler.mark("debate");
    this.scrollToEnd();
    this.scheduler.mark();
  }

  // Finished debates

  /** @param {FinishedQuery} query */
  requestFinished(query) {
    this.listed = { count: this.status ? countEnded(this.status) : -1, at: performance.now() };
    this.client.listFinished(query);
  }

  /**
   * Request the list again while debates finish: at intervals, or at once when the state of the run has changed.
   *
   * @param {boolean} now
   */
  listFinishedAgain(now) {
    if (this.mode !== "finished" || !this.status || countEnded(this.status) === this.listed.count) return;
    if (now || performance.now() >= this.listed.at + RELIST_MS) this.finished.request();
  }

  /** @param {FinishedPage} page */
  showFinished(page) {
    this.finished.show(page);
    if (!this.view && page.rows.length) this.focus(page.rows[0].document_id);
  }

  // The shown debate

  /** @param {string | null} id */
  show(id) {
    this.replay?.stop();
    this.replay = null;
    clearTimeout(this.leaveTimer);
    this.leaveTimer = undefined;
    this.view = id === null ? null : new DebateView(new Debate(id, this.run));
    this.view?.hideRoles(this.hiddenRoles);
    this.showView();
    this.client.follow(id);
    this.finished.select(id);
    this.scheduler.show("debate", "tiles");
  }

  /** Show the turns of the debate, or of its replay. */
  showView() {
    const view = this.replay?.view ?? this.view;
    const hint = "The first debate appears here when it starts.";
    const empty = isOver(this.data) ? "" : el("div", "empty", el("b", "", "No turns yet"), hint);
    this.turns.replaceChildren(view?.node ?? empty);
    this.documentChanged = true;
    this.followsEnd = true;
    this.scheduler.scroll = this.turns;
  }

  /**
   * Show a debate after a choice of the user or of the view.
   *
   * @param {string} id
   * @param {number} [dwell]
   */
  focus(id, dwell = DWELL_MS) {
    this.dwell = dwell;
    this.show(id);
    this.saveSettings();
  }

  /** Show the debate from its first word, and end its replay. */
  showAgain() {
    if (!this.view) return;
    const { id, document } = this.view.debate;
    this.focus(id);
    if (document) this.setDocument(document);
  }

  /** @param {string} id */
  pick(id) {
    this.focus(id);
    this.pin(true);
  }

  /** Choose a debate if none is shown, and the finished ones if none has a tile and no more will come. */
  chooseDebate() {
    const id = this.tiles.first();
    if (id) {
      if (!this.view) this.focus(id);
    } else if (this.mode !== "finished" && this.status && !isActive(this.status)) {
      this.switchMode("finished");
      this.turnedToFinished = true;
    }
  }

  leaveLater() {
    if (this.pinned || this.leaveTimer !== undefined) return;
    this.leaveTimer = setTimeout(() => this.leave(), this.dwell);
  }

  /** Replace a finished debate by one in progress, as soon as there is one. */
  leave() {
    this.leaveTimer = undefined;
    if (this.pinned || this.replay || !this.view?.debate.verdict) return;
    const next = this.tiles.next(this.view.debate.id);
    if (next) this.focus(next);
    else this.leaveLater(); // a run that ended can be resumed
  }

  /** @param {boolean} pinned */
  pin(pinned) {
    this.pinned = pinned;
    this.drawPin();
    this.saveSettings();
    if (pinned) {
      clearTimeout(this.leaveTimer);
      this.leaveTimer = undefined;
    } else if (this.view?.debate.verdict) this.leaveLater();
  }

  /** @param {KeyboardEvent} event */
  handleKey(event) {
    const target = /** @type {Element} */ (event.composedPath()[0]);
    if (event.altKey || event.ctrlKey || event.metaKey || ownsKey(target, event.key)) return;
    if (event.key === " ") {
      event.preventDefault();
      this.pin(!this.pinned);
    } else {
      const step = this.stepOf(event.key, target !== this.root && scrollsByKey(target));
      if (step) {
        event.preventDefault();
        this.moveFocus(step);
      }
    }
  }

  /**
   * Return the number of debates that a key moves forward.
   *
   * @param {string} key
   * @param {boolean} scrolls True if the up and down keys scroll the focused region.
   */
  stepOf(key, scrolls) {
    const row = this.mode === "live" ? this.tiles.countColumns() : 1;
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: -1, ArrowRight: 1, ...(scrolls ? {} : { ArrowUp: -row, ArrowDown: row }) };
    return steps[key] ?? 0;
  }

  /** @param {number} step */
  moveFocus(step) {
    const ids = this.mode === "live" ? this.tiles.ids : this.finished.ids;
    const place = ids.indexOf(this.shownId ?? "");
    const next = place < 0 ? 0 : Math.max(0, Math.min(ids.length - 1, place + step));
    if (!ids.length || next === place) return;
    this.focus(ids[next], DWELL_AFTER_KEY_MS);
    this.drawPin();
  }

  /** @param {Mode} mode */
  setMode(mode) {
    this.mode = mode;
    this.turnedToFinished = false;
    this.liveButton.ariaPressed = String(mode === "live");
    this.finishedButton.ariaPressed = String(mode === "finished");
    this.finished.node.classList.toggle("hidden", mode === "live");
    this.scheduler.show("counters", "tiles");
  }

  /** @param {Mode} mode */
  switchMode(mode) {
    this.setMode(mode);
    this.saveSettings();
    if (mode === "finished") this.finished.request();
  }

  // Menu of roles

  rolesMenu() {
    const boxes = [...this.run.roles.values()].map((role, index) => {
      const box = el("input", { type: "checkbox", checked: !this.hiddenRoles.has(role.role), autofocus: index === 0 });
      box.onchange = () => this.toggleRole(role.role, box.checked);
      return el("label", "", box, avatar(role, { small: true }), role.name);
    });
    return el("div", { className: "menu", popover: "auto", role: "group", ariaLabel: "Roles shown" }, ...boxes);
  }

  /** @param {string} role @param {boolean} visible */
  toggleRole(role, visible) {
    if (visible) this.hiddenRoles.delete(role);
    else this.hiddenRoles.add(role);
    this.view?.hideRoles(this.hiddenRoles);
    this.replay?.view.hideRoles(this.hiddenRoles);
    this.saveSettings();
    this.scheduler.show("debate");
  }

  // Replay

  startReplay() {
    if (!this.view) return;
    this.replay = new Replay(this.view, {
      onChange: (isNews) => {
        if (isNews) {
          this.documentChanged = true; // to mark its evidence
          this.scheduler.mark("debate");
        }
        this.scrollToEnd();
        this.scheduler.mark();
      },
      onEnd: () => this.showAgain(),
    });
    this.showView();
    this.scheduler.show("debate");
  }

  // Drawing

  tick() {
    this.fit();
    if (this.status?.state === "running") this.scheduler.mark("counters");
    if (this.tiles.markWaiting()) this.scheduler.mark("tiles");
  }

  isAtEnd() {
    return this.turns.scrollHeight - this.turns.scrollTop - this.turns.clientHeight < 60;
  }

  scrollToEnd() {
    if (this.followsEnd) this.scheduler.scroll = this.turns;
  }

  drawCounters() {
    const { counters, status, data } = this;
    counters.draw(status, data);
    if (this.refused) {
      const text = "Open the address that moot printed in the terminal when it started.";
      counters.drawNotice({ tone: "bad", icon: "fail", title: "This window has no access to the run.", text });
    } else if (this.gone) {
      const text = "It may belong to another project, or its project was closed.";
      counters.drawNotice({ tone: "warn", icon: "help", title: "This run does not exist.", text });
    } else counters.drawNotice(status && describeState(status, data));
    if (!status) return;
    setText(this.finishedButton, `Finished ${formatCount(countEnded(status))}`);
    this.drawOverviewHeading();
  }

  drawTiles() {
    this.tiles.draw(this.shownId, this.mode === "live");
    this.drawOverviewHeading();
  }

  drawOverviewHeading() {
    const { mode, status, tiles } = this;
    const running = status && !isOver(status) ? status.in_flight : 0;
    const { title, count } = mode === "live" ? tiles.heading(running) : { title: "Finished", count: null };
    setText(this.overviewTitle, title);
    this.overviewCount.classList.toggle("hidden", count === null); // the button beside it has the number
    if (count !== null) setText(this.overviewCount, formatCount(count));
  }

  drawDebate() {
    const { run, data, documentId, documentNote, documentLength, replayButton, pinButton, diagram } = this;
    const debate = (this.replay?.view ?? this.view)?.debate ?? null;
    this.drawPin();
    pinButton.classList.toggle("hidden", !debate);
    replayButton.classList.toggle("hidden", !this.replay && !debate?.verdict);
    replayButton.replaceChildren(...(this.replay ? [icon("stop"), "End replay"] : [icon("play"), "Replay"]));
    setText(documentId, debate?.id ?? "");
    documentId.title = debate?.id ?? "";
    setText(documentNote, debate?.document?.note ?? "");
    const texts = Object.values(debate?.document?.fields ?? {});
    const words = texts.reduce((sum, text) => sum + (text.match(/\S+/g)?.length ?? 0), 0);
    setText(documentLength, texts.length ? formatPlural(words, "word") : "");
    if (this.documentChanged) this.drawDocument(debate);
    this.labelTable.replaceChildren(labelTable(debate, run, this.hiddenRoles));
    const turns = debate?.orderedTurns.filter(({ role }) => role && !this.hiddenRoles.has(role)) ?? [];
    const rows = turns.length ? protocolDiagram(data.layout, turns, run) : [];
    diagram.classList.toggle("hidden", !rows.length);
    diagram.replaceChildren(...rows);
  }

  /** @param {Debate | null} debate */
  drawDocument(debate) {
    this.documentChanged = false;
    const id = debate?.id ?? "";
    const scrolled = this.shownDocument === id ? this.document.scrollTop : 0;
    this.shownDocument = id;
    const fields = debate?.document?.fields;
    const argued = debate?.orderedTurns.at(-1)?.item;
    const nodes = fields && documentNodes(fields, debate.evidence, this.run.labels, debate.disputed, argued);
    this.document.replaceChildren(...(nodes ?? []));
    this.document.scrollTop = scrolled;
  }

  drawPin() {
    this.pinButton.classList.toggle("active", this.pinned);
    this.pinButton.ariaPressed = String(this.pinned);
    const word = this.pinned ? "Pinned" : "Pin";
    this.pinButton.ariaLabel = `${word} ${this.shownId ?? ""}`;
    this.pinButton.replaceChildren(icon("pin"), word);
  }
}

/** @param {string} label @param {...Node} children */
function panel(label, ...children) {
  return el("section", { className: "panel", ariaLabel: label }, ...children);
}

/** @param {Component<LiveRunData>} component */
export default function (component) {
  const { run, labels, roles } = component.data;
  return mountView(component, [run, labels, roles], (root) => new LiveRunView(root, component));
}
