// The debate of one run on one document, as it is held: fed by /moot/live, from the store when it has been held.

import { Debate, normal } from "./debate.js";
import { el } from "./dom.js";
import { labelBook } from "./labels.js";
import { roleBook } from "./roles.js";
import { whenStaying } from "./streamlit_bridge.js";
import { TurnView } from "./turn_view.js";
import { ruling } from "./verdict.js";

const WAITS = [0.3, 0.8, 2, 5];

class Talk {
  constructor(root) {
    this.root = root;
    this.tries = 0;
  }

  setup(component) {
    const { data } = component;
    this.component = component;
    this.data = data;
    this.root.style.setProperty("--room", `${data.height || 420}px`);
    this.root.className = `moot talkbox ${data.tone || ""}`;
    const shown = JSON.stringify([data.run, data.document, data.labels, data.head]);
    if (shown === this.shown) return;
    this.shown = shown;
    this.labels = labelBook(data.labels);
    this.roles = roleBook(data.roles);
    this.kind = data.kind;
    this.playing = null;
    this.documentStale = false;
    this.life = "";
    this.told = "";
    this.debate = new Debate(this, data.document);
    this.body = el("div", "", el("div", "empty", "Nobody has spoken yet."));
    this.root.replaceChildren(el("div", "phead", el("h2", "", data.head), el("span", "t2 xs ell", data.note || "")), this.body);
    this.connect();
  }

  connect() {
    if (this.ended) return;
    if (this.socket) { this.socket.onclose = null; this.socket.close(); }
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = (this.socket = new WebSocket(`${scheme}//${location.host}/moot/live?ticket=${this.data.ticket || ""}`));
    socket.onopen = () => this.watch();
    socket.onmessage = (event) => { this.tries = 0; this.take(JSON.parse(event.data)); };
    socket.onclose = () => {
      this.socket = null;
      if (!this.ended) this.later = setTimeout(() => this.connect(), 1000 * WAITS[Math.min(this.tries++, WAITS.length - 1)]);
    };
  }

  watch() {
    const cursors = {};
    for (const [turn, cursor] of this.debate.cursors) cursors[`${this.debate.id}/${turn}`] = cursor;
    if (this.socket && this.socket.readyState === 1) this.socket.send(JSON.stringify({ type: "watch", run: this.data.run, focus: this.debate.id, board: this.life, cursors }));
  }

  take(message) {
    if (message.type === "snapshot") {
      if (message.board !== this.life) { this.debate.cursors.clear(); this.life = message.board; }
      if (message.document && message.document.id === this.debate.id) this.debate.setDocument(message.document);
    }
    for (const event of message.events || []) {
      if (event.kind === "run_status") this.state(event.state);
      else if (event.document_id !== this.debate.id) continue;
      else if (event.kind === "turn") this.turn(normal(event, this.kind));
      else if (event.kind === "verdict") { this.debate.verdict = event; this.rule(); }
    }
  }

  state(state) {
    if (this.moved && state !== this.told && !["running", "queued"].includes(state)) whenStaying(this.body, () => this.component.setTriggerValue("ended", state));
    if (["running", "queued"].includes(state)) this.moved = true;
    this.told = state;
  }

  turn(event) {
    const { debate } = this;
    let view = debate.views.get(event.turn);
    if (!view) {
      if (!debate.views.size) this.body.replaceChildren();
      view = new TurnView(this);
      debate.views.set(event.turn, view);
      debate.turns.set(event.turn, event);
      const after = [...debate.views.keys()].filter((n) => n > event.turn).sort((a, b) => a - b)[0];
      this.body.insertBefore(view.node, after === undefined ? this.ruled || null : debate.views.get(after).node);
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
    if (event.done) debate.settleDisputes();
    view.setHead(event);
    view.drawThought();
  }

  rule() {
    if (!this.debate.views.size) this.body.replaceChildren();
    if (this.ruled) this.ruled.remove();
    this.ruled = el("div", "ruling", ...ruling(this.debate.verdict, this.labels, this.kind));
    this.body.append(this.ruled);
  }

  end() {
    this.ended = true;
    clearTimeout(this.later);
    if (this.socket) { this.socket.onclose = null; this.socket.close(); }
  }
}

export default function (component) {
  const root = component.parentElement.querySelector(".talkbox");
  root.talk = root.talk || new Talk(root);
  root.talk.setup(component);
  return () => { root.talk.end(); root.talk = null; };
}
