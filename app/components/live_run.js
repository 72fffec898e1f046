// The live board. It talks to /moot/live on its own, so that reruns of the page's script neither stop nor slow it.

import { Debate, normal } from "./debate.js";
import { el, icon, put } from "./dom.js";
import { count, money, numeral, several, span } from "./format.js";
import { drawDocument } from "./highlighting.js";
import { inSmall, labelBook, labelOf, present } from "./labels.js";
import { shapeOf } from "./protocol_diagram.js";
import { avatar, roleBook, roleOf } from "./roles.js";
import { whenStaying } from "./streamlit_bridge.js";
import { TurnView } from "./turn_view.js";
import { ruling } from "./verdict.js";

const RETRY = [0.3, 0.6, 1.2, 2.5, 5, 8];
const DWELL = 2600;   // ms on a debate that has ended before the next one is shown
const PACE = { strip: 500, wall: 250 }; // ms between two drawings of what is only glanced at
const REST = 4;        // a frame is followed by a rest of so many times what it took: a slow machine has a run to carry
const LONGEST_REST = 250;
const DWELL_KEYS = 9000;
const RELIST = 4000;   // ms between two looks at the list of finished debates while it is open
const WORDS = 26;     // a second, in a replay

class BoardView {
  constructor(root) {
    this.root = root;
    this.socket = null;
    this.tries = 0;
    this.dirty = { strip: true, wall: true, focus: true };
    this.drawn = {}; // part -> when
    this.inbox = []; // what came from the server since the last frame
    this.stuck = true; // whether the talk is read at its end
    this.resize = () => this.fit();
    window.addEventListener("resize", this.resize);
    this.keydown = (event) => this.key(event);
    root.addEventListener("keydown", this.keydown);
    this.outside = (event) => { if (this.menu && !event.composedPath().includes(this.menu.parentElement)) this.closeMenu(); };
    document.addEventListener("pointerdown", this.outside);
    this.clock = setInterval(() => this.tick(), 1000);
  }

  // ---- what the page says

  setup(component) {
    this.component = component;
    const data = component.data || {};
    const same = this.data && this.data.run === data.run && JSON.stringify([this.data.labels, this.data.roles]) === JSON.stringify([data.labels, data.roles]);
    this.data = data;
    this.kind = data.kind || "multilabel";
    if (same) { this.mark("strip"); return; }
    this.labels = labelBook(data.labels);
    this.roles = roleBook(data.roles);
    this.status = null;
    this.tiles = new Map();
    this.slots = [];
    this.samples = [];
    this.life = "";
    this.list = { query: "", status: "", offset: 0, total: null, rows: [] };
    const kept = this.recall();
    this.pinned = Boolean(kept.pinned);
    this.hidden = new Set(kept.hidden || []);
    this.mode = kept.mode || "live";
    this.build();
    this.focus(kept.focus || null, { quiet: true });
    this.fit();
    this.connect();
  }

  recall() {
    try { return JSON.parse(sessionStorage.getItem("moot:" + this.data.run) || "{}"); } catch { return {}; }
  }

  remember() {
    const kept = { focus: this.debate && this.debate.id, pinned: this.pinned, hidden: [...this.hidden], mode: this.mode };
    try { sessionStorage.setItem("moot:" + this.data.run, JSON.stringify(kept)); } catch { /* private window */ }
  }

  end() {
    this.ended = true;
    clearInterval(this.clock);
    clearTimeout(this.later);
    cancelAnimationFrame(this.playing);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.breath);
    window.removeEventListener("resize", this.resize);
    clearTimeout(this.resting);
    document.removeEventListener("pointerdown", this.outside);
    if (this.socket) { this.socket.onclose = null; this.socket.close(); }
  }

  // ---- the frame, built once a run

  build() {
    this.strip = this.buildStrip();
    this.notice = el("div", "say hide");
    const docHead = el("div", "phead");
    this.docId = el("span", "mono b ell");
    this.docNote = el("span", "t2 sm ell grow");
    this.docWords = el("span", "t3 xs");
    docHead.append(this.docId, this.docNote, this.docWords);
    this.doc = el("div", "docscroll doc");
    this.doc.tabIndex = 0;
    this.doc.setAttribute("aria-label", "Document");
    this.ledger = el("div", "ledger");
    const left = el("section", "panel", docHead, this.doc, this.ledger);
    left.setAttribute("aria-label", "Document and standing");

    this.order = el("div", "ftabs");
    this.lost = el("span", "badge unres hide");
    this.replayButton = el("button", "btn q hide");
    this.replayButton.onclick = () => (this.playing ? this.stopReplay() : this.replay());
    this.pinButton = el("button", "btn q pin");
    this.pinButton.onclick = () => this.pin(!this.pinned);
    const rolesButton = el("button", "btn", icon("eye"), "Roles");
    rolesButton.setAttribute("aria-haspopup", "true");
    rolesButton.onclick = () => (this.menu ? this.closeMenu() : this.openMenu());
    this.rolesButton = rolesButton;
    this.rolesPop = el("div", "pop", rolesButton);
    const talkHead = el("div", "phead", el("h2", "", "Debate"), this.order, this.lost, el("div", "row end", this.replayButton, this.pinButton, this.rolesPop));
    this.shape = el("div", "shape hide");
    this.shape.setAttribute("aria-label", "Who speaks to whom");
    this.talk = el("div", "talk");
    this.talk.tabIndex = 0;
    this.talk.onscroll = () => { this.stuck = this.atBottom(); };
    this.talk.setAttribute("aria-label", "Debate");
    const kbd = (key) => el("kbd", "kbd", key);
    const legend = el("div", "legend", kbd("←"), kbd("→"), el("span", "", "debates"), kbd("Space"), el("span", "", "stay"), (this.next = el("span", "end ell")));
    const middle = el("section", "panel", talkHead, this.shape, this.talk, legend);
    middle.setAttribute("aria-label", "Debate");

    this.inFlight = el("span", "badge", "0");
    this.liveButton = el("button", "", "Live");
    this.liveButton.onclick = () => this.setMode("live");
    this.finButton = el("button", "", "Finished");
    this.finButton.onclick = () => this.setMode("finished");
    this.wallTitle = el("h2", "", "In flight");
    const wallHead = el("div", "phead", this.wallTitle, this.inFlight, el("div", "row end", el("span", "seg", this.liveButton, this.finButton)));
    this.wall = el("div", "wall");
    this.wall.setAttribute("aria-label", "Debates in flight");
    this.fin = this.buildFinished();
    const right = el("section", "panel", wallHead, this.wall, this.fin);
    right.setAttribute("aria-label", "All debates");

    for (const node of [...this.root.children]) if (!node.hasAttribute("data-say")) node.remove();
    this.voice = this.root.querySelector("[data-say]");
    this.root.append(this.strip, this.notice, el("div", "board", left, middle, right));
    this.root.tabIndex = 0;
    this.root.setAttribute("role", "region");
    this.root.setAttribute("aria-label", "Debate board");
    const letters = [...this.roles.values()];
    if (letters.length <= 6 && (this.data.form || "chain") === "chain") letters.forEach((r, i) => this.order.append(i ? icon("chevron") : "", avatar(r, "s", false)));
    this.setMode(this.mode, true);
    this.drawPin();
  }

  buildStrip() {
    const cell = (name) => {
      const node = el("div", "", el("div", "k1", name), el("div", "v"), el("div", "d"));
      return { node, v: node.children[1], d: node.children[2] };
    };
    this.cells = { documents: cell("Documents"), rate: cell("Rate"), left: cell("Time left"), cost: cell("Cost"), verdicts: cell("Verdicts") };
    this.costBar = el("div", "cost", el("i"), el("i"));
    this.costBar.children[0].style.background = "var(--line2)";
    this.costBar.children[1].style.background = "var(--tx)";
    this.cells.cost.node.insertBefore(this.costBar, this.cells.cost.d);
    this.bars = ["--tx", "--unres", "--wrong", "--run"].map((colour) => { const i = el("i"); i.style.background = `var(${colour})`; return i; });
    this.progress = el("div", "pbar", ...this.bars);
    this.progress.setAttribute("role", "progressbar");
    this.progress.setAttribute("aria-label", "Documents debated");
    return el("div", "strip", ...Object.values(this.cells).map((c) => c.node), this.progress);
  }

  buildFinished() {
    const input = el("input");
    input.type = "search";
    input.placeholder = "Find a document";
    input.setAttribute("aria-label", "Find a finished debate");
    input.oninput = () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.ask({ query: input.value, offset: 0 }), 180); };
    const select = el("select");
    select.setAttribute("aria-label", "Which debates");
    for (const [value, name] of [["", "All"], ["verdict", "Decided"], ["unresolved", "Unresolved"], ["failed", "Failed"]]) {
      const option = el("option", "", name);
      option.value = value;
      select.append(option);
    }
    select.onchange = () => this.ask({ status: select.value, offset: 0 });
    this.rows = el("div", "rows");
    this.older = el("button", "btn", "Older");
    this.newer = el("button", "btn", "Newer");
    this.older.onclick = () => this.ask({ offset: this.list.offset + this.list.rows.length });
    this.newer.onclick = () => this.ask({ offset: Math.max(0, this.list.offset - 50) });
    this.pageText = el("span", "");
    return el("div", "fin hide", el("div", "find", icon("search"), input, select), this.rows, el("div", "pages", this.pageText, el("span", "row end", this.newer, this.older)));
  }

  fit() {
    const top = this.root.getBoundingClientRect().top;
    const room = window.innerHeight - Math.max(0, top) - 20;
    const narrow = this.root.clientWidth < 1160;
    if (this.width !== this.root.clientWidth) this.across = 0; // counted anew when it is needed: asking costs a layout
    this.width = this.root.clientWidth;
    if (this.root.clientWidth > 780) this.root.style.height = `${Math.max(room, narrow ? 690 : 620)}px`;
    else this.root.style.height = "";
  }

  // ---- the wire

  connect() {
    if (this.ended) return;
    if (this.socket) { this.socket.onclose = null; this.socket.close(); }
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = (this.socket = new WebSocket(`${scheme}//${location.host}/moot/live?ticket=${this.data.ticket || ""}`));
    socket.onopen = () => { this.watch(); if (this.mode === "finished") this.ask({}); };
    socket.onmessage = (event) => {
      this.tries = 0;
      this.lose("");
      this.inbox.push(JSON.parse(event.data));
      if (document.hidden) this.readInbox(); // there are no frames
      else if (this.inbox[this.inbox.length - 1].type === "finished") this.show(); // a person asked for it
      else this.mark();
    };
    socket.onclose = (event) => {
      this.socket = null;
      if (this.ended) return;
      if (event.code === 4401) { this.barred = true; this.mark("strip"); }
      const wait = RETRY[Math.min(this.tries++, RETRY.length - 1)] * (0.8 + 0.4 * Math.random());
      if (this.tries > 1 && !this.barred) this.lose(`Reconnecting in ${Math.ceil(wait)} s, the debates go on`);
      this.later = setTimeout(() => this.connect(), (this.barred ? 8 : wait) * 1000);
    };
  }

  lose(text) {
    this.lost.classList.toggle("hide", !text);
    if (text !== this.lost.textContent) { put(this.lost, text); put(this.voice, text); }
  }

  send(message) { if (this.socket && this.socket.readyState === 1) this.socket.send(JSON.stringify(message)); }

  watch() {
    const cursors = {};
    if (this.debate) for (const [turn, cursor] of this.debate.cursors) cursors[`${this.debate.id}/${turn}`] = cursor;
    this.send({ type: "watch", run: this.data.run, focus: this.debate ? this.debate.id : null, board: this.life, cursors });
  }

  ask(change) {
    Object.assign(this.list, change);
    const { query, status, offset } = this.list;
    this.listed = this.status ? this.status.verdicts + this.status.unresolved + this.status.failed : null;
    this.listedAt = performance.now();
    this.send({ type: "finished", query, status, offset });
  }

  // The list of finished debates while more of them end: now and then, and at once when the run comes to rest.
  listAgain(now) {
    const { verdicts, unresolved, failed } = this.status;
    const ended = verdicts + unresolved + failed;
    if (this.mode !== "finished" || ended === this.listed || (!now && performance.now() < this.listedAt + RELIST)) return;
    this.ask({});
  }

  readInbox() {
    const inbox = this.inbox;
    this.inbox = [];
    for (const message of inbox) this.take(message);
  }

  take(message) {
    this.barred = false;
    if (message.type === "gone") { this.gone = true; this.mark("strip", "focus"); return; }
    if (message.type === "finished") { this.list = message; this.drawList(); this.firstFinished(); return; }
    if (message.type === "snapshot") {
      this.gone = false;
      if (message.board !== this.life) {
        if (this.life && this.debate) this.debate.cursors.clear();
        this.life = message.board;
      }
      if (message.document && this.debate && message.document.id === this.debate.id) { this.debate.setDocument(message.document); this.mark("focus"); this.documentStale = true; }
      const flying = new Set(message.events.filter((e) => e.kind === "tile").map((e) => e.document_id));
      for (const id of [...this.tiles.keys()]) if (!flying.has(id) && !this.tiles.get(id).status) { this.tiles.delete(id); this.slots = this.slots.map((s) => (s === id ? null : s)); }
    }
    for (const event of message.events) this.fold(event);
    if (message.type === "snapshot") this.opened = true;
    if (this.opened) this.choose();
  }

  fold(event) {
    const debate = this.debate;
    if (event.kind === "run_status") this.setStatus(event);
    else if (event.kind === "tile") this.setTile(event);
    else if (!debate || event.document_id !== debate.id || this.playing) return; // a replay ends with a fresh snapshot
    else if (event.kind === "turn") this.setTurn(debate, normal(event, this.kind));
    else if (event.kind === "verdict") {
      if (!debate.verdict) this.leaveLater();
      debate.verdict = event;
      this.mark("focus", "wall");
    }
  }

  setStatus(status) {
    const before = this.status && this.status.state;
    this.status = status;
    this.samples.push({ at: performance.now(), calls: status.calls + status.cached_calls });
    while (this.samples.length > 2 && this.samples[0].at < performance.now() - 60000) this.samples.shift();
    this.mark("strip");
    this.root.classList.toggle("still", !["running", "queued"].includes(status.state));
    if (["done", "stopped", "failed"].includes(status.state)) {
      for (const [id, tile] of [...this.tiles]) if (!tile.status) { this.tiles.delete(id); this.slots = this.slots.map((s) => (s === id ? null : s)); }
      if (!this.slots.some(Boolean)) this.slots = [];
      this.mark("wall");
    }
    if (this.turned && status.state === "running") this.setMode("live"); // it goes on: there is something to watch again
    this.listAgain(before !== status.state);
    if (status.state === this.data.state) this.told = "";
    else if (this.data.state && status.state !== this.told) {
      this.told = status.state;
      whenStaying(this.root, () => this.component.setTriggerValue("state", status.state)); // the page draws its buttons anew
    }
    if (before && before !== status.state) put(this.voice, `The run is ${status.state}`);
  }

  setTile(tile) {
    const id = tile.document_id;
    const old = this.tiles.get(id);
    tile.until = tile.waiting ? performance.now() + tile.wait * 1000 : 0;
    this.tiles.set(id, tile);
    if (!old || !this.slots.includes(id)) {
      let place = this.slots.indexOf(null);
      if (place < 0 && this.slots.length >= this.capacity()) {
        const over = this.slots.map((s, i) => [s, i]).filter(([s]) => s && this.tiles.get(s) && this.tiles.get(s).status);
        const late = (s) => (this.debate && s === this.debate.id ? Infinity : this.tiles.get(s).ended || 0);
        over.sort((a, b) => late(a[0]) - late(b[0]));
        if (over.length) { place = over[0][1]; this.tiles.delete(over[0][0]); }
        else if (tile.status) { this.tiles.delete(id); return; }
      }
      if (place < 0) this.slots.push(id); else this.slots[place] = id;
    }
    tile.ended = tile.status ? (old && old.ended) || performance.now() : 0;
    this.changed = this.changed || new Set();
    this.changed.add(id);
    this.mark("wall");
  }

  capacity() { return Math.max(this.data.slots || 20, this.status ? this.status.in_flight : 0); }

  setTurn(debate, event) {
    let view = debate.views.get(event.turn);
    if (!view) {
      view = new TurnView(this);
      debate.views.set(event.turn, view);
      debate.turns.set(event.turn, event);
      const after = [...debate.views.keys()].filter((n) => n > event.turn).sort((a, b) => a - b)[0];
      if (after === undefined) this.talk.insertBefore(view.node, this.ruling); else this.talk.insertBefore(view.node, debate.views.get(after).node);
    }
    debate.turns.set(event.turn, event);
    const known = debate.cursors.get(event.turn);
    if (!known || known[0] !== event.attempt || known[1] !== event.offset) {
      if (event.offset !== 0) { debate.cursors.delete(event.turn); this.watch(); return; }
      view.restart();
      if (view.head) view.head.done = false;
    }
    view.head = view.head || { ...event, done: false };
    view.append(event.text);
    debate.cursors.set(event.turn, [event.attempt, event.end]);
    const wasDone = view.head.done;
    if (event.done) debate.settleDisputes();
    view.setHead(event);
    view.drawThought();
    this.speakers = debate.ordered.filter((t) => !t.done).map((t) => t.role).join();
    if (this.speakers !== this.shownSpeakers) { this.shownSpeakers = this.speakers; this.drawShape(); }
    view.node.classList.toggle("hide", this.hidden.has(event.role));
    if (event.done && !wasDone) { this.documentStale = true; this.mark("focus"); }
    if (this.documentStale) this.mark("focus");
    if (this.stuck) this.toBottom = true;
    this.mark();
  }

  // ---- where to look

  focus(id, { quiet = false, dwell = DWELL } = {}) {
    this.stopReplay(true);
    clearTimeout(this.leaving);
    this.leaving = null;
    this.dwell = dwell;
    this.debate = id ? new Debate(this, id) : null;
    this.ruling = el("div", "ruling hide");
    this.talk.replaceChildren(this.ruling);
    this.documentStale = true;
    this.stuck = this.toBottom = true;
    this.show("focus", "wall");
    if (!quiet) { this.watch(); this.remember(); if (this.mode === "finished") this.drawList(); }
  }

  // the shown debate when there is none or it has left
  choose() {
    if (this.debate) return;
    const open = this.slots.filter((id) => id && this.tiles.get(id) && !this.tiles.get(id).status);
    const any = open[0] || this.slots.filter(Boolean).pop();
    if (any) this.focus(any);
    else if (this.mode !== "finished" && this.status && this.status.state !== "running" && this.status.state !== "queued") {
      this.setMode("finished");
      this.turned = true;
    }
  }

  firstFinished() {
    if (!this.debate && this.list.rows.length) this.focus(this.list.rows[0].document_id);
  }

  leaveLater() {
    if (this.pinned || this.leaving || !this.opened) return;
    this.leaving = setTimeout(() => { this.leaving = null; this.leave(); }, this.dwell || DWELL);
  }

  leave() {
    if (this.pinned || this.playing || !this.debate || !this.debate.verdict) return;
    const open = [...this.tiles.values()].filter((t) => !t.status && t.document_id !== this.debate.id && !t.waiting);
    const done = (t) => Object.values(t.progress).reduce((a, b) => a + b, 0);
    open.sort((a, b) => (done(a) === 0) - (done(b) === 0) || done(a) - done(b));
    if (open.length) this.focus(open[0].document_id);
  }

  pin(on) {
    this.pinned = on;
    this.drawPin();
    this.remember();
    if (!on && this.debate && this.debate.verdict) this.leaveLater();
    if (on) { clearTimeout(this.leaving); this.leaving = null; }
  }

  drawPin() {
    this.pinButton.classList.toggle("on", this.pinned);
    this.pinButton.setAttribute("aria-pressed", String(this.pinned));
    const short = this.debate ? (this.debate.id.length > 11 ? this.debate.id.slice(0, 10) + "…" : this.debate.id) : "";
    this.pinButton.replaceChildren(icon("pin"), el("span", "ell", this.pinned ? `Staying on ${short}` : `Stay on ${short}`));
  }

  key(event) {
    const target = event.composedPath()[0];
    if (event.altKey || event.ctrlKey || event.metaKey || (target.matches && target.matches("input, select, textarea, summary"))) return;
    if (event.key === "Escape" && this.menu) { this.closeMenu(); this.rolesButton.focus(); return; }
    if (event.key === " " && !(target.matches && target.matches("button"))) { event.preventDefault(); this.pin(!this.pinned); return; }
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const row = this.mode === "live" ? { ArrowDown: this.columns(), ArrowUp: -this.columns() }[event.key] : { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const scrolls = target === this.doc || target === this.talk;
    const move = step || (scrolls ? 0 : row);
    if (!move) return;
    event.preventDefault();
    const ids = this.mode === "live" ? this.slots.filter(Boolean) : this.list.rows.map((r) => r.document_id);
    if (!ids.length) return;
    const at = this.debate ? ids.indexOf(this.debate.id) : -1;
    const to = at < 0 ? 0 : Math.max(0, Math.min(ids.length - 1, at + move));
    if (to === at) return;
    this.focus(ids[to], { dwell: DWELL_KEYS });
    this.drawPin();
  }

  columns() { return this.across || (this.across = getComputedStyle(this.wall).gridTemplateColumns.split(" ").length); }

  setMode(mode, quiet) {
    this.mode = mode;
    this.turned = false; // by itself, for want of debates
    const live = mode === "live";
    this.liveButton.setAttribute("aria-pressed", String(live));
    this.finButton.setAttribute("aria-pressed", String(!live));
    this.fin.classList.toggle("hide", live);
    put(this.wallTitle, live ? "In flight" : "Finished");
    if (!quiet) { this.remember(); if (!live) this.ask({}); }
    this.show("strip", "wall");
  }

  // ---- roles menu

  openMenu() {
    const menu = el("div", "menu");
    menu.setAttribute("role", "group");
    menu.setAttribute("aria-label", "Roles shown");
    for (const r of this.roles.values()) {
      const box = el("input");
      box.type = "checkbox";
      box.checked = !this.hidden.has(r.role);
      box.onchange = () => {
        if (box.checked) this.hidden.delete(r.role); else this.hidden.add(r.role);
        for (const [n, view] of this.debate ? this.debate.views : []) view.node.classList.toggle("hide", this.hidden.has(this.debate.turns.get(n).role));
        this.remember();
      };
      menu.append(el("label", "", box, avatar(r, "s", false), r.name));
    }
    this.menu = menu;
    this.rolesPop.append(menu);
    const first = menu.querySelector("input");
    if (first) first.focus();
  }

  closeMenu() { if (this.menu) this.menu.remove(); this.menu = null; }

  // ---- replay, token by token

  replay() {
    const { debate } = this;
    const turns = debate.ordered.filter((t) => t.done && !this.hidden.has(t.role));
    if (!turns.length) return;
    const texts = turns.map((t) => debate.views.get(t.turn).text);
    const verdict = debate.verdict;
    const script = turns.map((t, i) => ({ head: t, pieces: texts[i].match(/\s*\S+\s*/g) || [texts[i]] }));
    debate.views.clear();
    debate.turns.clear();
    debate.glimpses.clear();
    debate.verdict = null;
    debate.disputed = new Set();
    this.talk.replaceChildren(this.ruling);
    this.documentStale = true;
    let scene = 0, piece = 0, view = null, last = performance.now(), due = 0;
    this.finale = () => { debate.verdict = verdict; };
    const step = (now) => {
      due += ((now - last) / 1000) * WORDS;
      last = now;
      while (due >= 1 && scene < script.length) {
        due -= 1;
        const { head, pieces } = script[scene];
        if (!view) {
          view = new TurnView(this);
          view.speaking = true;
          debate.turns.set(head.turn, { ...head, done: false });
          debate.views.set(head.turn, view);
          this.talk.insertBefore(view.node, this.ruling);
          view.setHead({ ...head, done: false, evidence: [], waiting: "", tokens: 0, elapsed: 0 });
        }
        if (piece < pieces.length) { view.append(pieces[piece++]); continue; }
        view.speaking = false;
        debate.turns.set(head.turn, head);
        debate.settleDisputes();
        view.setHead(head);
        this.documentStale = true;
        view = null;
        piece = 0;
        scene += 1;
        due = -WORDS * 0.45; // a breath between speakers
      }
      this.toBottom = true;
      this.mark("focus");
      if (scene < script.length) this.playing = requestAnimationFrame(step); else this.stopReplay();
    };
    this.playing = requestAnimationFrame(step);
    this.mark("focus");
  }

  stopReplay(quiet) {
    if (!this.playing) return;
    cancelAnimationFrame(this.playing);
    this.playing = null;
    if (this.finale) this.finale();
    this.finale = null;
    if (quiet) return;
    // What was left out is told again by the server.
    const { debate } = this;
    const same = debate.document;
    this.focus(debate.id);
    if (same) this.debate.setDocument(same);
  }

  // ---- drawing, at most once a frame, and what is only glanced at less often: many debates move at once

  mark(...parts) {
    for (const part of parts) this.dirty[part] = true;
    this.wanted = true;
    if (!this.frame && !this.breath) this.frame = requestAnimationFrame(() => this.draw());
  }

  // The same for what a person did: they see it at once.
  show(...parts) {
    for (const part of parts) delete this.drawn[part];
    clearTimeout(this.breath);
    this.breath = null;
    this.mark(...parts);
  }

  draw() {
    this.frame = null;
    const now = performance.now();
    this.rest(now);
    this.readInbox();
    let wait = Infinity;
    const due = (part) => {
      if (!this.dirty[part]) return false;
      const left = (this.drawn[part] || -Infinity) + (PACE[part] || 0) - now;
      if (left > 0) { wait = Math.min(wait, left); return false; }
      this.dirty[part] = false;
      this.drawn[part] = now;
      return true;
    };
    if (due("strip")) this.drawStrip();
    if (due("wall")) this.drawWall();
    if (due("focus")) this.drawFocus();
    if (wait < Infinity) { clearTimeout(this.resting); this.resting = setTimeout(() => this.mark(), wait); }
    if (this.toBottom) { this.talk.scrollTop = this.talk.scrollHeight; this.toBottom = false; }
    this.wanted = false;
  }

  // No further frame until this one is on the screen, and for a while after it.
  rest(began) {
    this.breath = -1;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { // comes after the frame was painted
      port1.close();
      if (this.breath !== -1) return; // a person did something meanwhile
      const wait = Math.min(LONGEST_REST, REST * (performance.now() - began));
      this.breath = setTimeout(() => { this.breath = null; if (this.wanted) this.mark(); }, wait);
    };
    port2.postMessage(null);
  }

  atBottom() { return this.talk.scrollHeight - this.talk.scrollTop - this.talk.clientHeight < 60; }

  tick() {
    this.fit();
    if (this.status && this.status.state === "running") this.mark("strip");
    if ([...this.tiles.values()].some((t) => t.until)) { this.changed = new Set([...(this.changed || []), ...[...this.tiles.values()].filter((t) => t.until).map((t) => t.document_id)]); this.mark("wall"); }
  }

  drawStrip() {
    const s = this.status;
    const c = this.cells;
    const value = (cell, ...bits) => {
      const key = bits.map((b) => b.join("")).join("|");
      if (cell.key === key) return;
      cell.key = key;
      cell.v.replaceChildren(...bits.flatMap(([big, small]) => [el("b", "", big), small ? el("small", "", " " + small) : ""]));
    };
    const detail = (cell, ...nodes) => cell.d.replaceChildren(...nodes);
    if (this.barred) this.shout("bad", "fail", "This window may not watch.", "Open the address that moot printed in the terminal when it started.");
    else if (this.gone) this.shout("warn", "help", "This run is not here.", "It may belong to another project.");
    else if (!s) this.shout("");
    if (!s) { for (const cell of Object.values(c)) value(cell, ["–"]); return; }
    const ended = s.verdicts + s.unresolved + s.failed;
    const over = ["done", "stopped", "failed"].includes(s.state);
    value(c.documents, [count(ended), `of ${count(s.documents)}`]);
    detail(c.documents, over ? "" : `${count(s.in_flight)} in flight, ${count(Math.max(0, s.documents - ended - s.in_flight))} waiting`);
    const first = this.samples[0], last = this.samples[this.samples.length - 1];
    const minutes = (last.at - first.at) / 60000;
    const calls = minutes > 0.03 ? Math.round((last.calls - first.calls) / minutes) : s.seconds > 1 ? Math.round((s.calls / s.seconds) * 60) : 0;
    if (over && s.seconds > 0) value(c.rate, [count(Math.round((ended / s.seconds) * 60)), "per min"]);
    else value(c.rate, [s.rate ? count(Math.round(s.rate * 10) / (s.rate < 10 ? 10 : 10) >= 10 ? Math.round(s.rate) : Math.round(s.rate * 10) / 10) : "–", "per min"]);
    detail(c.rate, over ? `${count(s.calls)} calls` : `${count(calls)} calls per min`);
    if (over) { value(c.left, [{ done: "Done", stopped: "Stopped", failed: "Failed" }[s.state]]); detail(c.left, `took ${span(s.seconds)}`); }
    else if (s.state === "paused") { value(c.left, ["Paused"]); detail(c.left, s.eta_seconds ? `${span(s.eta_seconds)} of work left` : ""); }
    else { value(c.left, [s.eta_seconds === null ? "–" : span(s.eta_seconds)]); detail(c.left, s.message ? el("span", "ell", s.message) : s.eta_seconds === null ? "measuring" : "done about " + new Date(Date.now() + s.eta_seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false })); }
    const cost = s.cost_usd;
    const projected = cost !== null && ended > 0 && !over ? (cost / ended) * s.documents : null;
    value(c.cost, [cost === null ? "Unpriced" : money(cost), over || cost === null ? "" : "so far"], ...(projected ? [[money(projected), "projected"]] : []));
    const whole = this.data.budget || projected || cost || 1;
    this.costBar.children[0].style.width = `${Math.min(100, ((projected || cost || 0) / whole) * 100)}%`;
    this.costBar.children[1].style.width = `${Math.min(100, ((cost || 0) / whole) * 100)}%`;
    detail(c.cost, el("span", "ell", `${several(s.calls, "call")} paid, ${count(s.cached_calls)} from the turn store`), this.data.budget ? el("span", "opt", `budget ${money(this.data.budget)}`) : "");
    value(c.verdicts, [count(s.verdicts), "decided"]);
    detail(c.verdicts, el("span", "", el("span", s.unresolved ? "unres b" : "", `${count(s.unresolved)} unresolved`), ", ", el("span", s.failed ? "wrong b" : "", `${count(s.failed)} failed`)));
    const part = (n) => `${s.documents ? (n / s.documents) * 100 : 0}%`;
    [s.verdicts, s.unresolved, s.failed, over ? 0 : s.in_flight].forEach((n, i) => { this.bars[i].style.width = part(n); });
    this.progress.setAttribute("aria-valuemax", s.documents);
    this.progress.setAttribute("aria-valuenow", ended);
    put(this.inFlight, this.mode === "live" ? count(over ? 0 : s.in_flight) : count(ended));
    put(this.finButton, `Finished ${count(ended)}`);
    if (this.barred || this.gone) return;
    const said = s.stop_code === "user" ? "" : s.message;
    if (this.data.told && s.state === this.data.state) this.shout("");
    else if (s.state === "done") this.shout(...(s.failed || (s.documents && !s.verdicts) ? ["warn", "help"] : ["ok", "done"]), "All debates have ended.", `${several(s.verdicts, "verdict")}, ${count(s.unresolved)} unresolved, ${count(s.failed)} failed. ${s.message}`);
    else if (s.state === "paused") this.shout("warn", "pause", "Paused.", said || "Every reply so far is kept; none is paid again when the run goes on.");
    else if (s.state === "stopped") this.shout("warn", "stop", "Stopped.", said || "Every reply so far is kept.");
    else if (s.state === "failed") this.shout("bad", "fail", "The run failed.", s.message);
    else if (s.message) this.shout("warn", "help", s.message, "");
    else this.shout("");
  }

  shout(kind, symbol, head, text) {
    const key = [kind, head, text].join("|");
    if (this.notice.key === key) return;
    this.notice.key = key;
    this.notice.className = kind ? `say ${kind}` : "say hide";
    if (kind) this.notice.replaceChildren(icon(symbol), el("span", "b", head), el("span", "t2", text || ""));
  }

  drawWall() {
    const changed = this.changed || new Set();
    this.changed = new Set();
    this.slots.forEach((id, place) => {
      let node = this.wall.children[place];
      if (!node) { node = this.buildTile(); this.wall.append(node); }
      const tile = id && this.tiles.get(id);
      node.classList.toggle("sel", Boolean(tile && this.debate && id === this.debate.id));
      if (node.shown !== id || changed.has(id)) this.drawTile(node, tile, id);
    });
    while (this.wall.children.length > this.slots.length) this.wall.lastChild.remove();
    this.wall.classList.toggle("hide", this.mode !== "live" || !this.slots.length);
    let empty = this.wall.nextSibling && this.wall.nextSibling.classList.contains("none") ? this.wall.nextSibling : null;
    if (!this.slots.length && !empty) { empty = el("div", "none"); this.wall.after(empty); }
    if (empty) {
      empty.classList.toggle("hide", this.slots.length > 0 || this.mode !== "live");
      put(empty, "No debate is in flight.");
    }
    this.wall.classList.toggle("full", this.slots.length >= 7 * this.columns());
  }

  buildTile() {
    const node = el("button", "wt");
    node.type = "button";
    node.id_ = el("span", "id ell");
    node.top_ = el("div", "l");
    node.bars_ = el("div", "tr");
    node.words_ = el("div", "x ell");
    node.append(node.top_, node.bars_, node.words_);
    node.onclick = () => { if (node.shown) { this.focus(node.shown); this.pin(true); } };
    return node;
  }

  drawTile(node, tile, id) {
    node.shown = id;
    if (!tile) { node.top_.replaceChildren(); node.bars_.replaceChildren(); put(node.words_, ""); node.className = "wt"; return; }
    put(node.id_, id);
    node.id_.title = id;
    const shown = tile.status ? (tile.status === "verdict" ? present(tile.values, this.labels, this.kind) : tile.labels) : tile.labels;
    const role = tile.role ? roleOf(this.roles, tile.role) : null;
    const symbol = tile.status === "verdict" ? icon("done", "right") : tile.status === "unresolved" ? icon("help", "unres") : tile.status === "failed" ? icon("fail", "wrong") : tile.waiting || !role ? icon("clock", "t3") : avatar(role, "s", false);
    const key = [shown.join(), tile.status, tile.role, Boolean(tile.waiting)].join("|") + id;
    if (node.key !== key) {
      node.key = key;
      node.top_.replaceChildren(node.id_, ...inSmall(shown, tile.values, this.labels, this.kind), symbol);
    }
    const known = [...this.roles.values()];
    if (node.bars_.children.length !== known.length) node.bars_.replaceChildren(...known.map((r) => el("i", r.colour)));
    known.forEach((r, i) => { node.bars_.children[i].className = r.colour; node.bars_.children[i].style.setProperty("--w", String(tile.status ? 1 : tile.progress[r.role] || 0)); });
    let words = tile.tail ? (tile.tail.length > 42 ? "…" + tile.tail.slice(-42).replace(/^\S*\s/, "") : tile.tail) : "";
    let tone = "";
    if (tile.status === "verdict") { words = this.kind === "multilabel" ? `decided, ${several(shown.length, "label")}` : this.kind === "choice" ? `decided: ${shown.map((l) => labelOf(this.labels, l).name).join(", ")}` : "decided: " + shown.map((l) => `${labelOf(this.labels, l).name} ${numeral(tile.values[l])}`).join(", "); tone = "right"; }
    else if (tile.status) { words = tile.status + (tile.reason ? `: ${tile.reason}` : ""); tone = tile.status === "failed" ? "wrong" : "unres"; }
    else if (tile.waiting) { const left = Math.ceil((tile.until - performance.now()) / 1000); words = tile.waiting + (left > 0 ? `, again in ${left} s` : ""); tone = "t3"; if (left <= 0) tile.until = 0; }
    else if (!words && role) { words = "reading"; tone = "t3"; }
    put(node.words_, words.replace(/\*\*|```/g, ""));
    node.words_.className = `x ell ${tone}`;
    node.setAttribute("aria-label", `Debate ${id}, ${tile.status || (role ? role.name + " speaks" : "waiting")}`);
  }

  drawList() {
    const { rows, total, offset, query } = this.list;
    this.rows.replaceChildren(...rows.map((row) => {
      const node = el("button", "fr" + (this.debate && row.document_id === this.debate.id ? " sel" : ""));
      node.type = "button";
      const labels = inSmall(present(row.values, this.labels, this.kind), row.values, this.labels, this.kind);
      const symbol = row.status === "verdict" ? icon("done", "right") : row.status === "unresolved" ? icon("help", "unres") : icon("fail", "wrong");
      node.append(el("div", "l", el("span", "id ell", row.document_id), ...labels, symbol), el("div", "x ell", row.text_start));
      node.onclick = () => { this.focus(row.document_id); this.pin(true); };
      return node;
    }));
    if (!rows.length && total !== null) this.rows.append(el("div", "none", query ? "No finished debate matches." : "No debate has ended yet."));
    put(this.pageText, total ? `${count(offset + 1)} to ${count(offset + rows.length)} of ${count(total)}` : "");
    this.newer.disabled = offset === 0;
    this.older.disabled = !total || offset + rows.length >= total;
  }

  drawFocus() {
    const { debate } = this;
    this.drawPin();
    this.pinButton.classList.toggle("hide", !debate);
    const over = Boolean(debate && debate.verdict);
    this.replayButton.classList.toggle("hide", !(over || this.playing));
    this.replayButton.replaceChildren(...(this.playing ? [icon("stop"), "End replay"] : [icon("play"), "Replay"]));
    put(this.docId, debate ? debate.id : "");
    this.docId.title = debate ? debate.id : "";
    const document = debate && debate.document;
    put(this.docNote, document ? document.note : "");
    const fields = document ? Object.entries(document.fields) : [];
    const words = fields.reduce((n, [, text]) => n + (text.match(/\S+/g) || []).length, 0);
    put(this.docWords, document ? several(words, "word") : "");
    if (this.documentStale) {
      this.documentStale = false;
      const kept = this.shownDocument === (debate && debate.id) ? this.doc.scrollTop : 0;
      this.shownDocument = debate && debate.id;
      const nodes = [];
      for (const [name, text] of fields) {
        if (fields.length > 1) nodes.push(el("h3", "", name));
        const body = el("div");
        drawDocument(body, text, debate.spans(name), this.labels);
        nodes.push(body);
      }
      this.doc.replaceChildren(...nodes);
      this.doc.scrollTop = kept;
    }
    this.drawLedger();
    this.drawShape();
    this.drawRuling();
    if (!debate && !this.talk.querySelector(".none")) this.talk.prepend(el("div", "none", el("b", "", "Nobody speaks yet"), "The first debate appears here as soon as it begins."));
    else if (debate) { const none = this.talk.querySelector(".none"); if (none) none.remove(); }
  }

  drawLedger() {
    const { debate } = this;
    const turns = debate ? debate.ordered : [];
    const final = debate && debate.verdict ? debate.verdict.values : null;
    const table = el("table");
    // When all is said, whoever only argued or kept the record takes no column from those who gave labels.
    const gave = (role) => turns.some((t) => t.role === role && (Array.isArray(t.labels) || (this.kind === "rating" && t.values)));
    const seen = [...this.roles.values()].filter((r) => !this.hidden.has(r.role));
    const voices = debate && debate.verdict ? seen.filter((r) => gave(r.role)) : seen;
    const roles = (voices.length ? voices : seen).slice(0, 6);
    const head = el("tr", "", el("th", "", "Standing"), ...roles.map((r) => el("th", "c", avatar(r, "s", false))), el("th", "", "Evidence"));
    table.append(head);
    for (const label of this.labels.values()) {
      const cells = roles.map((r) => {
        const own = turns.filter((t) => t.role === r.role && t.done && (Array.isArray(t.labels) || (this.kind === "rating" && t.values))).pop();
        const rating = own && this.kind === "rating" && typeof own.values[label.id] === "number" ? own.values[label.id] : null;
        const mark = el("span", "mk");
        if (!own) { mark.classList.add("w"); mark.append(debate && !debate.verdict ? "…" : ""); }
        else if (rating !== null) { mark.classList.add("y", debate.disputed.has(label.id) ? "l0" : `l${label.colour}`); mark.append(numeral(rating)); }
        else if (this.kind === "rating") mark.append("");
        else if (own.labels.includes(label.id)) { mark.classList.add("y", `l${label.colour}`); mark.append(icon("check")); mark.title = "named"; }
        else { mark.classList.add("n"); if (debate.disputed.has(label.id)) mark.classList.add("dis"); mark.append(debate.disputed.has(label.id) ? icon("close") : "·"); mark.title = "not named"; }
        return el("td", "c", mark);
      });
      table.append(el("tr", "", el("td", "", el("span", `lab l${label.colour}`, el("span", "sq"), el("span", "ell", label.name))), ...cells, this.evidenceCell(debate, label, final)));
    }
    this.ledger.replaceChildren(table);
  }

  evidenceCell(debate, label, final) {
    const cell = el("td", "t2");
    if (!debate) return cell;
    const rows = debate.evidence.filter((e) => e.item === label.id);
    const unique = new Map(rows.map((e) => [e.start >= 0 ? `${e.field}:${e.start}:${e.end}` : e.quote, e]));
    const found = [...unique.values()].filter((e) => e.match !== "missing").length;
    const named = this.kind === "rating" ? false : debate.lists().some((t) => t.labels.includes(label.id));
    const unread = final && this.kind === "choice" ? final.label === null && named : final && final[label.id] === null;
    const absent = final && (this.kind === "choice" ? final.label !== null && final.label !== label.id : final[label.id] === false);
    const dropped = this.kind !== "rating" && absent && named;
    if (unread) cell.append(el("span", "unres", "unresolved"));
    else if (dropped) cell.append("dropped");
    else if (debate.disputed.has(label.id) && !final) cell.append(el("span", "wrong", "disputed"));
    else if (unique.size && found < unique.size) cell.append(found ? `${found} of ${unique.size} found` : el("span", "wrong", "not in the text"));
    else if (found) cell.append(final ? `${found} kept` : several(found, "quote"));
    else if (named) cell.append("no quote");
    return cell;
  }

  // the debate as what it is: a chain, a round table with its votes, a court, panels
  drawShape() {
    const { debate } = this;
    const turns = debate ? debate.ordered.filter((t) => t.role && !this.hidden.has(t.role)) : [];
    const rows = turns.length ? shapeOf(this.data.form, turns, this.roles, this.labels, this.kind) : [];
    this.shape.classList.toggle("hide", !rows.length);
    this.shape.replaceChildren(...rows);
  }

  drawRuling() {
    const verdict = this.debate && !this.playing ? this.debate.verdict : null;
    this.ruling.classList.toggle("hide", !verdict);
    if (!verdict) return;
    const key = JSON.stringify(verdict);
    if (this.ruling.key === key) return;
    this.ruling.key = key;
    this.ruling.replaceChildren(...ruling(verdict, this.labels, this.kind));
    if (this.stuck) { this.toBottom = true; this.mark(); }
  }
}

const boards = new WeakMap();

export default function (component) {
  const root = component.parentElement.querySelector(".board-root");
  let view = boards.get(root);
  if (!view) { view = new BoardView(root); boards.set(root, view); }
  view.setup(component);
  return () => { view.end(); boards.delete(root); };
}
