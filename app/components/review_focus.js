// Focus: one document at a time, by keyboard. The page tells which run and which filters; everything else is asked and
// told over a route of its own (teller.js), so that a key is on disk and on the screen without a rerun.

import { el, icon } from "./dom.js";
import { count, several, span } from "./format.js";
import { labelBook, labelOf } from "./labels.js";
import { Teller } from "./review_client.js";
import { badgeOf, button, evidenceOf, formRows, guidelineOf, historyOf, key, queueItem, textOf } from "./review_panels.js";
import { roleBook } from "./roles.js";
import { whenStaying } from "./streamlit_bridge.js";
import { heldDebate } from "./transcript.js";

const SIZE = 50;
const IDLE = 60_000; // milliseconds without a sign of the person after which time no longer counts
const views = new WeakMap();
const typing = (node) => node instanceof Element && node.matches("input, textarea, select, [contenteditable='true'], [role='combobox'], [role='textbox']");

class FocusView {
  constructor(root) {
    this.root = root;
    this.rows = [];
    this.docs = new Map();
    this.at = 0; // the label that up and down move
    this.open = { transcript: false, guideline: false, history: false };
    this.clock = { since: 0, spent: 0, sign: 0 };
    this.note = null;
    root.tabIndex = -1;
    this.onKey = (event) => this.keyed(event);
    this.onSign = () => this.sign();
    window.addEventListener("keydown", this.onKey);
    for (const kind of ["pointermove", "keydown", "wheel"]) window.addEventListener(kind, this.onSign, { passive: true });
  }

  end() {
    window.removeEventListener("keydown", this.onKey);
    for (const kind of ["pointermove", "keydown", "wheel"]) window.removeEventListener(kind, this.onSign);
    this.keepNote();
    clearTimeout(this.later);
  }

  // ---- what the page says

  setup(component) {
    this.component = component;
    const data = component.data;
    const before = this.data;
    this.data = data;
    this.root.style.setProperty("--room", data.height);
    const shape = (each) => JSON.stringify([each.run, each.actor, each.wanted, each.settings.share]);
    const same = before && shape(before) === shape(data);
    // The switch that led here would keep the arrow keys to itself.
    if (!before && !typing(document.activeElement)) this.root.focus({ preventScroll: true });
    if (!same) this.begin();
    else if (data.asked && data.asked !== before.asked) this.go(data.asked);
  }

  begin() {
    const { data } = this;
    this.book = { labels: labelBook(data.labels), roles: roleBook(data.roles), kind: data.kind, scale: data.scale };
    this.blind = data.settings.blind;
    this.teller = new Teller(`/moot/review?ticket=${data.ticket}`, { run: data.run, actor: data.actor });
    this.teller.onState = (state, words) => this.stated(state, words);
    this.frame();
    this.reload(data.asked);
  }

  async reload(wanted) {
    this.rows = [];
    this.docs.clear();
    await this.more();
    if (wanted && !(await this.fetch(wanted))) wanted = null; // another run may lack it
    this.go(wanted || (this.nextWaiting(-1) || this.rows[0] || {}).id || null);
    this.countUp();
  }

  // ---- asking

  async more() {
    const known = new Set(this.rows.map((row) => row.id));
    const wanted = { ...this.data.wanted, sort: "queue", number: 1, size: Math.min(this.rows.length + SIZE, 1000) };
    const told = await this.teller.ask("lines", { wanted });
    if (told.gone) { this.rows = []; this.gone = true; return 0; }
    const fresh = (told.rows || []).filter((row) => !known.has(row.id));
    this.rows.push(...fresh);
    this.total = told.total || 0;
    this.inOrder = Boolean(told.queue);
    this.list();
    return fresh.length;
  }

  async fetch(id) {
    if (!this.docs.has(id)) this.docs.set(id, this.teller.ask("document", { document: id }).then((told) => told.document));
    try { return await this.docs.get(id); } catch { this.docs.delete(id); return null; }
  }

  async countUp() {
    this.progress = await this.teller.ask("progress", {}).catch(() => null);
    this.foot();
  }

  // ---- going about

  row(id) { return this.rows.find((row) => row.id === id); }
  waiting(row) { return row.status === "Pending" || row.status === "Draft"; }
  nextWaiting(from) { return this.rows.slice(from + 1).find((row) => this.waiting(row) && !row.skip) || null; }

  async go(id) {
    this.keepNote();
    this.stopClock();
    const another = id !== this.id;
    this.id = id;
    this.doc = null;
    this.trouble = "";
    this.list();
    if (id === null) { this.draw(); return; }
    const doc = await this.fetch(id);
    if (this.id !== id) return;
    this.doc = doc;
    const chosen = this.book.kind === "choice" && doc ? [...this.book.labels.keys()].indexOf(doc.values.label) : 0;
    this.at = another ? Math.max(0, chosen) : Math.min(this.at, this.book.labels.size - 1);
    this.clock = { since: performance.now(), spent: 0, sign: performance.now() };
    this.draw();
    this.tell();
    const place = this.rows.findIndex((row) => row.id === id);
    const next = this.rows[place + 1];
    if (next) this.fetch(next.id);
    if (place >= this.rows.length - 8 && this.rows.length < this.total) this.more();
  }

  say(word) {
    whenStaying(this.root, word);
  }

  // The page follows a little later: what it shows below is not worth waiting for.
  tell() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.say(() => this.component.setStateValue("document", this.id)), 700);
  }

  async step(by) {
    const place = this.rows.findIndex((row) => row.id === this.id);
    let next = this.rows[place + by];
    if (!next && by > 0 && (await this.more())) next = this.rows[place + by];
    if (next) this.go(next.id);
  }

  async goOn() {
    const place = this.rows.findIndex((row) => row.id === this.id);
    let next = this.nextWaiting(place);
    if (!next && (await this.more())) next = this.nextWaiting(place);
    next = next || this.nextWaiting(-1) || this.rows.find((row) => this.waiting(row));
    this.go(next ? next.id : null);
  }

  // ---- time spent: while the page is looked at and the person gives signs

  sign() {
    const now = performance.now();
    if (this.clock.since && now - this.clock.sign > IDLE) { this.clock.spent += this.clock.sign + IDLE - this.clock.since; this.clock.since = now; }
    this.clock.sign = now;
  }
  stopClock() { this.clock = { since: 0, spent: 0, sign: 0 }; }
  seconds() {
    const now = Math.min(performance.now(), this.clock.sign + IDLE);
    return Math.max(0.1, Math.round((this.clock.spent + (this.clock.since ? now - this.clock.since : 0)) / 100) / 10);
  }

  // ---- acts. The screen follows at once; "Saved" waits for the file.

  async act(name, more) {
    const id = this.id;
    const told = await this.teller.act(name, { document: id, seconds: this.seconds(), ...more });
    if (told === null) { this.docs.delete(id); if (this.id === id) { const doc = await this.fetch(id); if (this.id === id) { this.doc = doc; this.draw(); } } }
    return told;
  }

  status(id, status) {
    const row = this.row(id);
    if (row) { row.status = status; row.at = Date.now() / 1000; }
    if (this.doc && this.doc.id === id) this.doc.status = status;
    this.list();
  }

  change(item, value) {
    const { doc } = this;
    if (!doc) return;
    doc.values[item] = value;
    if (!doc.own.includes(item)) doc.own.push(item);
    doc.stale = doc.stale.filter((each) => each !== item);
    doc.history += 1;
    if (doc.status === "Pending") this.status(doc.id, "Draft");
    this.trouble = "";
    this.form();
    this.act("set", { item, value });
  }

  submit() {
    const { doc, book } = this;
    if (!doc) return;
    this.keepNote();
    const items = book.kind === "choice" ? ["label"] : [...book.labels.keys()];
    const open = items.filter((item) => doc.values[item] === null || doc.values[item] === undefined);
    if (open.length) {
      this.at = book.kind === "choice" ? 0 : items.indexOf(open[0]);
      const names = open.map((item) => (book.kind === "choice" ? "a label" : labelOf(book.labels, item).name)).join(", ");
      this.trouble = `Decide ${names} first.${book.kind === "multilabel" ? " 0 sets the rest to absent." : ""}`;
      this.form();
      return;
    }
    if (doc.hidden) { this.reveal(); return; }
    const row = this.row(doc.id);
    const first = this.rows.find((each) => this.waiting(each) && !each.skip);
    const draw = this.inOrder && row && first === row ? row.draw : null;
    this.act("submit", { draw }).then((told) => { if (told) { this.say(() => this.component.setTriggerValue("settled", doc.id)); this.countUp(); } else this.status(doc.id, "Draft"); });
    doc.history += 1;
    doc.stale = [];
    this.status(doc.id, "Submitted");
    this.goOn();
  }

  async reveal() {
    const id = this.id;
    if (!(await this.act("reveal", {}))) return;
    this.docs.delete(id);
    const doc = await this.fetch(id);
    if (this.id === id) { this.doc = doc; this.draw(); }
  }

  async turnBack(act) {
    this.keepNote();
    const told = await this.teller.act(act, {});
    if (!told) return;
    if (!told.touched.length) { this.stated("idle", act === "undo" ? "Nothing to undo" : "Nothing to redo"); return; }
    told.touched.forEach((id) => this.docs.delete(id));
    for (const doc of await Promise.all(told.touched.slice(0, 5).map((id) => this.fetch(id)))) {
      if (!doc) continue;
      const row = this.row(doc.id);
      if (row) Object.assign(row, { status: doc.status, skip: doc.skip });
      else this.rows.unshift({ id: doc.id, opening: Object.values(doc.fields)[0] || "", status: doc.status, reasons: doc.reasons, skip: doc.skip, draw: null });
    }
    await this.go(told.touched[0]);
    this.countUp();
  }

  toggle(name) {
    if (!this.doc) return;
    this.doc[name] = !this.doc[name];
    this.act(name, { value: this.doc[name] || null });
    this.form();
  }

  skip() {
    if (!this.doc) return;
    const row = this.row(this.id);
    if (row) row.skip = true;
    this.doc.skip = true;
    this.act("skip", { value: true });
    this.goOn();
  }

  discard() {
    if (!this.doc) return;
    const settled = this.doc.status === "Submitted" || this.doc.status === "Discarded";
    this.act(settled ? "reopen" : "discard", {});
    this.status(this.id, settled ? "Draft" : "Discarded");
    if (settled) { this.docs.delete(this.id); this.form(); } else this.goOn();
  }

  tag(name) {
    const { doc } = this;
    doc.tags = doc.tags.includes(name) ? doc.tags.filter((each) => each !== name) : [...doc.tags, name];
    this.act("tags", { value: doc.tags.length ? doc.tags : null });
    this.form();
  }

  keepNote() {
    const { doc, note } = this;
    if (!doc || !note || note.value === doc.comment) return;
    doc.comment = note.value;
    this.act("note", { value: note.value || null });
  }

  async setBlind() {
    this.blind = !this.blind;
    this.keepNote();
    await this.teller.act("settings", { blind: this.blind });
    this.say(() => this.component.setStateValue("blind", this.blind));
    this.frame();
    await this.reload(this.id);
  }

  restAbsent() {
    if (!this.doc || this.book.kind !== "multilabel") return;
    for (const id of this.book.labels.keys()) if (this.doc.values[id] === null || this.doc.values[id] === undefined) this.change(id, false);
  }

  // ---- keys: off while typing, and while a dialog or menu of the page is open

  keyed(event) {
    const from = event.composedPath()[0];
    if (event.defaultPrevented || !this.root.isConnected || document.querySelector("[role='dialog']")) return;
    if (typing(from)) { if (event.key === "Escape" && from === this.note) { this.note.blur(); this.root.focus(); } return; }
    const control = event.ctrlKey || event.metaKey;
    let what = null;
    if (control && event.key.toLowerCase() === "z") what = () => this.turnBack(event.shiftKey ? "redo" : "undo");
    else if (control || event.altKey) return;
    else if (from instanceof HTMLElement && from.matches("button, a, summary, [role='button']") && (event.key === "Enter" || event.key === " ")) return;
    else what = this.doneBy(event.key);
    if (!what) return;
    event.preventDefault();
    if (event.repeat && !["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].includes(event.key)) return;
    what();
  }

  doneBy(name) {
    if (this.help) return name === "Escape" || name === "?" ? () => this.showHelp(false) : null;
    if (/^[0-9]$/.test(name)) return () => this.digit(Number(name));
    const keys = {
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), ArrowUp: () => this.move(-1), ArrowDown: () => this.move(1),
      " ": () => this.turn(this.at), Enter: () => this.submit(), Backspace: () => this.turnBack("undo"), "?": () => this.showHelp(true),
      u: () => this.turnBack("undo"), y: () => this.turnBack("redo"), f: () => this.toggle("flag"), s: () => this.skip(),
      d: () => this.discard(), b: () => this.setBlind(), t: () => this.fold("transcript"), g: () => this.fold("guideline"),
      h: () => this.fold("history"), n: () => this.note && this.note.focus(),
    };
    return keys[name.length === 1 ? name.toLowerCase() : name] || null;
  }

  move(by) {
    const count = this.book.labels.size;
    this.at = (this.at + by + count) % count;
    this.form();
    if (this.open.guideline) this.folds();
  }

  digit(number) {
    if (!this.doc) return;
    const { kind, scale, labels } = this.book;
    if (kind === "rating") {
      if (number < scale.min || number > scale.max) return;
      const item = [...labels.keys()][this.at];
      if (this.at < labels.size - 1) this.at += 1;
      this.change(item, number);
    } else if (number === 0) this.restAbsent();
    else if (number <= labels.size) { this.at = number - 1; this.turn(this.at); }
  }

  turn(index) {
    if (!this.doc) return;
    const id = [...this.book.labels.keys()][index];
    if (this.book.kind === "choice") this.change("label", id);
    else if (this.book.kind === "multilabel") this.change(id, this.doc.values[id] !== true);
  }

  // ---- drawing

  frame() {
    const { book, blind } = this;
    const panel = (cls) => el("section", `panel ${cls}`);
    this.queue = panel("queue");
    this.middle = panel("middle");
    this.right = panel("form");
    this.keys = el("div", "keys");
    this.state = el("span", "state");
    this.state.setAttribute("role", "status");
    this.items = el("div", "items");
    this.items.onscroll = () => { if (this.items.scrollTop + this.items.clientHeight > this.items.scrollHeight - 200 && this.rows.length < this.total && !this.loading) { this.loading = true; this.more().finally(() => { this.loading = false; }); } };
    this.qcount = el("span", "badge");
    const blinding = button(`end${blind ? " on" : ""}`, "Blind", "B", () => this.setBlind());
    blinding.title = "Decide first, then see the verdict";
    blinding.setAttribute("aria-pressed", blind ? "true" : "false");
    this.queue.append(el("div", "phead", el("h2", "", "Queue"), this.qcount, blinding), this.items);
    this.root.replaceChildren(this.queue, this.middle, this.right, this.keys);
    this.drawnRows = null;
  }

  list() {
    this.qcount.textContent = count(this.total || 0);
    const keep = this.items.scrollTop;
    this.items.replaceChildren(...this.rows.map((row) => queueItem(row, row.id === this.id, () => { this.go(row.id); this.root.focus(); })));
    this.items.scrollTop = keep;
    const on = this.items.querySelector(".qi.on");
    if (on && (on.offsetTop - this.items.offsetTop < keep || on.offsetTop - this.items.offsetTop + on.offsetHeight > keep + this.items.clientHeight))
      this.items.scrollTop = on.offsetTop - this.items.offsetTop - this.items.clientHeight / 3;
  }

  draw() {
    this.text();
    this.form();
    this.folds();
    this.foot();
  }

  text() {
    const { doc, book } = this;
    this.foldRoom = el("div");
    if (!doc) {
      const [head, text] = this.gone ? ["This run is not open", "Reload the page."]
        : this.rows.length ? ["All of these are decided", "Choose other filters above, or go back with the left arrow."]
        : ["No documents left", "No document matches the filters, or all are decided."];
      this.middle.replaceChildren(el("div", "none", el("b", "", head), el("p", "", text)));
      return;
    }
    const stands = new Map();
    for (const values of Object.values(doc.roles)) for (const [item, value] of Object.entries(values)) stands.set(item, new Set([...(stands.get(item) || []), value]));
    const disputed = new Set([...stands].filter(([, values]) => values.size > 1).map(([item]) => item));
    const row = this.row(doc.id);
    const badges = doc.reasons.map(badgeOf);
    if (row && row.draw && row.draw.how === "audit") badges.push(el("span", "badge", "random audit"));
    this.middle.replaceChildren(
      el("div", "phead", el("span", "mono b", doc.id), el("span", "t2 sm ell", doc.note), el("span", "row end badges", ...badges)),
      el("div", "scroll",
        doc.hidden ? el("div", "veil", icon("eye"), "Blind: the verdict is shown after you have decided every label.") : null,
        doc.error ? el("div", "veil wrong", doc.error) : null,
        textOf(doc, book.labels, disputed), doc.hidden ? null : evidenceOf(doc, book.labels, book.roles, book.kind)),
      this.foldRoom);
  }

  folds() {
    if (!this.doc) return;
    const { doc } = this;
    const parts = [["transcript", "Transcript", "T", doc.hidden ? "after you have decided" : ""], ["guideline", "Guideline", "G", ""], ["history", "History", "H", doc.history ? several(doc.history, "event") : ""]];
    this.foldRoom.replaceChildren(...parts.map(([name, title, letter, note]) => {
      const head = el("button", "", icon("chevron"), el("b", "", title), key(letter), el("span", "t3 xs", note));
      head.type = "button";
      head.setAttribute("aria-expanded", this.open[name] ? "true" : "false");
      head.onclick = () => { this.fold(name); this.root.focus(); };
      const inside = el("div", "in");
      inside.tabIndex = 0;
      if (this.open[name]) this.fill(name, inside);
      return el("div", `fold${this.open[name] ? " open" : ""}`, head, inside);
    }));
  }

  fold(name) {
    this.open[name] = !this.open[name];
    for (const other of Object.keys(this.open)) if (other !== name) this.open[other] = false;
    this.folds();
  }

  async fill(name, room) {
    const { doc, book, data } = this;
    if (name === "guideline") {
      this.told = this.told || (await this.teller.ask("guideline", {}));
      room.replaceChildren(guidelineOf(this.told, book.labels, [...book.labels.keys()][this.at]));
    } else if (name === "history") {
      room.replaceChildren(historyOf((await this.teller.ask("history", { document: doc.id })).entries));
    } else {
      const told = await this.teller.ask("transcript", { document: doc.id });
      const nodes = heldDebate({ document: { id: doc.id, fields: doc.fields }, events: told.events, labels: data.labels, roles: data.roles, kind: data.kind });
      room.replaceChildren(...(nodes.length ? nodes : [el("div", "gl", doc.hidden ? "Shown after you have decided." : "No debate on this document yet.")]));
    }
  }

  form() {
    const { doc, book } = this;
    if (!doc) { this.right.replaceChildren(el("div", "phead", el("h2", "", "Your verdict"), this.state)); this.note = null; return; }
    const typed = this.note && this.note.dataset.id === doc.id ? this.note : null;
    const note = typed || el("textarea");
    if (!typed) {
      note.dataset.id = doc.id;
      note.value = doc.comment;
      note.placeholder = "Why, in your words";
      note.setAttribute("aria-label", "Note");
      note.onblur = () => this.keepNote();
      note.onkeydown = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); note.blur(); this.root.focus(); } };
    }
    this.note = note;
    const scroll = this.right.querySelector(".scroll");
    const top = scroll ? scroll.scrollTop : 0;
    const settled = doc.status === "Submitted" || doc.status === "Discarded";
    const back = (act) => () => { act(); this.root.focus(); };
    const rows = formRows(doc, book, this.at, (item, value) => { this.at = book.kind === "choice" ? [...book.labels.keys()].indexOf(value) : [...book.labels.keys()].indexOf(item); this.change(item, value); this.root.focus(); });
    const pills = this.data.tags.map((name) => {
      const pill = el("button", "pill", name);
      pill.type = "button";
      pill.setAttribute("aria-pressed", doc.tags.includes(name) ? "true" : "false");
      pill.onclick = back(() => this.tag(name));
      return pill;
    });
    const focused = this.root.getRootNode().activeElement === note;
    this.right.replaceChildren(
      el("div", "phead", el("h2", "", "Your verdict"), el("span", "badge", doc.status), this.state),
      el("div", "scroll", ...rows,
        this.trouble ? el("div", "trouble", this.trouble) : null,
        el("div", "part", el("h3", "", "Why was it wrong", el("span", "t3 xs", "optional")), el("div", "pills", ...pills)),
        el("div", "part", el("h3", "", "Note", key("N")), note)),
      el("div", "do",
        button("go", doc.hidden ? "Show the verdict" : "Submit and go on", "Enter", back(() => this.submit())),
        el("div", "acts",
          button("q", "Undo", "U", back(() => this.turnBack("undo"))), button("q", "Redo", "Y", back(() => this.turnBack("redo"))),
          button(`q${doc.flag ? " on" : ""}`, doc.flag ? "Flagged" : "Flag", "F", back(() => this.toggle("flag"))), button("q", "Skip", "S", back(() => this.skip())),
          button("q", settled ? "Reopen" : "Discard", "D", back(() => this.discard())))));
    this.right.querySelector(".scroll").scrollTop = top;
    if (focused) note.focus();
    const on = this.right.querySelector(".vf.foc");
    if (on) on.scrollIntoView({ block: "nearest" });
  }

  foot() {
    const size = this.book.labels.size;
    const part = (keys, words) => el("span", "", ...keys.map(key), words);
    const turned = this.book.kind === "rating" ? [String(this.book.scale.min), "to", String(this.book.scale.max), "rate"] : ["1", "to", String(Math.min(9, size)), this.book.kind === "choice" ? "choose" : "toggle"];
    const end = el("span", "end");
    const p = this.progress;
    if (p) {
      const bar = el("span", "pbar", el("i"));
      bar.firstChild.style.width = `${p.documents ? (100 * p.submitted) / p.documents : 0}%`;
      const left = p.seconds && p.urgent ? `, ${span(p.seconds * p.urgent)} for ${count(p.urgent)} with a reason` : "";
      end.append(el("span", "", el("b", "", count(p.submitted)), ` of ${count(p.documents)} done`), bar, el("span", "t3", p.seconds ? `${Math.round(p.seconds)} s each${left}` : `${count(p.urgent)} with a reason`));
    }
    const every = button("q", "all keys", "?", () => { this.showHelp(true); this.root.focus(); });
    this.keys.replaceChildren(part(["←", "→"], "document"), part(["↑", "↓"], this.book.kind === "rating" ? "dimension" : "label"), el("span", "", key(turned[0]), `${turned[1]} `, key(turned[2]), turned[3]), part(["Enter"], this.blind ? "show, submit" : "submit"), every, end);
  }

  stated(state, words) {
    this.state.className = `state ${state === "saved" ? "saved" : state === "lost" || state === "refused" ? "lost" : ""}`;
    this.state.textContent = state === "saved" ? `✓ ${words}` : state === "saving" ? "Saving…" : state === "refused" ? "Not saved" : words;
    if (state === "refused") { this.trouble = words; this.form(); }
  }

  showHelp(on) {
    if (this.help) this.help.remove();
    this.help = null;
    if (!on) return;
    const lines = [
      [["←", "→"], "document before, next"], [["↑", "↓"], "label above, below"],
      [[this.book.kind === "rating" ? `${this.book.scale.min}–${this.book.scale.max}` : `1–${Math.min(9, this.book.labels.size)}`], this.book.kind === "rating" ? "rate the marked dimension" : this.book.kind === "choice" ? "choose a label" : "turn a label"],
      ...(this.book.kind === "rating" ? [] : [[["Space"], this.book.kind === "choice" ? "choose the marked label" : "turn the marked label"]]),
      ...(this.book.kind === "multilabel" ? [[["0"], "the rest is absent"]] : []), [["Enter"], "submit and go on"], [["U"], "undo (or Ctrl+Z)"], [["Y"], "redo (or Ctrl+Shift+Z)"],
      [["F"], "flag"], [["S"], "skip: put off to the end"], [["D"], "discard, reopen"], [["B"], "blind: decide, then see"],
      [["T"], "transcript"], [["G"], "guideline"], [["H"], "history"], [["N"], "write a note (Esc leaves)"],
    ];
    const close = button("q end", "Close", "Esc", () => { this.showHelp(false); this.root.focus(); });
    const box = el("div", "", el("div", "row", el("h2", "", "Keys"), close), el("dl", "", ...lines.flatMap(([keys, words]) => [el("dt", "", ...keys.map(key)), el("dd", "", words)])));
    this.help = el("div", "help", box);
    this.help.setAttribute("aria-label", "Keys");
    this.help.onclick = (event) => { if (event.target === this.help) this.showHelp(false); };
    this.root.append(this.help);
  }
}

export default function (component) {
  const root = component.parentElement.querySelector(".focus-root");
  let view = views.get(root);
  if (!view) { view = new FocusView(root); views.set(root, view); }
  view.setup(component);
  return () => { view.end(); views.delete(root); };
}
