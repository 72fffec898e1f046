// One turn of a debate.

import { el, icon, put } from "./dom.js";
import { count, money } from "./format.js";
import { said } from "./highlighting.js";
import { avatar, roleOf } from "./roles.js";

// ---- one turn. Streaming only appends; a paragraph is drawn anew when a quote or a bold word in it closes.

export class TurnView {
  constructor(board) {
    this.board = board;
    this.text = "";
    this.head = null;
    this.said = el("div", "said");
    this.said.setAttribute("aria-live", "off");
    this.caret = el("span", "caret hide");
    this.meta = el("div", "meta");
    this.extra = el("div");
    this.side = el("div");
    this.node = el("article", "turn", this.side, el("div", "", this.meta, this.said, this.extra));
    this.paragraph = null;
    this.begun = 0;
  }

  context() {
    const { debate } = this.board;
    return { ...debate.context, evidence: [...(this.head ? debate.evidenceOf(this.head) : []), ...debate.evidenceBefore(this.head ? this.head.turn : 0)], disputed: debate.disputed };
  }

  setHead(head) {
    const ended = head.done && !(this.head && this.head.done);
    const role = roleOf(this.board.roles, head.role);
    if (this.shownRole !== head.role) {
      this.shownRole = head.role;
      this.node.className = `turn ${role.colour}`;
      this.side.replaceChildren(avatar(role, "", role.colour === "judge"));
      this.node.setAttribute("aria-label", role.name);
    }
    this.head = head;
    this.drawMeta();
    if (ended) this.settle();
  }

  drawMeta() {
    const { head } = this;
    const role = roleOf(this.board.roles, head.role);
    const bits = [el("span", "rn", role.name), el("span", "model", head.model || "")];
    const to = this.board.debate.answers(head.turn);
    if (to) bits.push(el("span", "to", icon("reply"), " " + to));
    if (head.done) {
      const tokens = head.completion_tokens ? `${count(head.completion_tokens)} tok` : "";
      const cost = head.cached ? "from the store" : head.cost_usd === null || head.cost_usd === undefined ? "" : money(head.cost_usd);
      const time = head.cached ? "" : head.seconds < 0.05 ? "" : `${head.seconds.toFixed(1)} s`;
      bits.push(el("span", "num", [time, tokens, cost].filter(Boolean).join("   ")));
    } else if (head.waiting) {
      bits.push(el("span", "floor wait", head.waiting));
    } else {
      const rate = head.elapsed > 0.7 ? `, ${Math.round(head.tokens / head.elapsed)} tok/s` : "";
      if (head.tokens) bits.push(el("span", "", `${count(head.tokens)} tok${rate}`));
      bits.push(el("span", "floor", "has the floor"));
    }
    if (this.board.playing) bits.splice(2, 9, el("span", "num", "replay"));
    this.meta.replaceChildren(...bits);
    const speaking = !head.done || this.speaking;
    this.node.classList.toggle("on", Boolean(speaking));
    this.caret.classList.toggle("hide", !speaking || Boolean(head.waiting));
  }

  restart() {
    this.text = "";
    this.said.replaceChildren();
    this.paragraph = null;
    this.said.classList.remove("raw");
  }

  append(text) {
    if (!text) return;
    if (!this.text && /^\s*[{[]|^\s*```/.test(text)) this.said.classList.add("raw");
    this.text += text;
    const lines = text.split("\n");
    lines.forEach((line, index) => {
      if (index > 0) {
        this.redraw();
        this.paragraph.append("\n");
        this.begun += this.line.length + 1;
        this.paragraph = null;
      }
      if (!this.paragraph) {
        this.line = "";
        this.paragraph = el("span");
        this.tail = document.createTextNode("");
        this.paragraph.append(this.tail);
        this.said.append(this.paragraph, this.caret);
      }
      this.line += line;
      this.tail.appendData(line);
      if (/["”»*]/.test(line)) this.redraw();
    });
  }

  redraw() {
    const nodes = said(this.line, this.context(), this.board.labels);
    this.board.debate.glimpse(this.head ? this.head.turn : 0, this.line, this.context());
    this.tail = nodes.length && nodes[nodes.length - 1].nodeType === 3 ? nodes.pop() : document.createTextNode("");
    this.paragraph.replaceChildren(...nodes, this.tail);
  }

  settle() {
    const { head, board } = this;
    this.said.replaceChildren(...said(this.text, this.context(), board.labels), this.caret);
    this.paragraph = null;
    const extra = [];
    if (head.reasoning) {
      const why = el("details", "why", el("summary", "", `Reasoning, ${count(head.reasoning.length)} characters`));
      why.append(el("div", "", head.reasoning));
      extra.push(why);
    }
    if (head.problem) extra.push(el("div", "dec", el("span", "badge unres", icon("help"), "unreadable"), el("span", "xs unres", head.problem)));
    const decision = board.debate.decision(head);
    if (decision) extra.push(decision);
    this.extra.replaceChildren(...extra);
  }

  drawThought() {
    const { head } = this;
    if (head.done || !head.reasoning_characters || this.text) { if (this.thought) { this.thought.remove(); this.thought = null; } return; }
    if (!this.thought) { this.thought = el("div", "thought"); this.extra.append(this.thought); }
    put(this.thought, `thinking, ${count(head.reasoning_characters)} characters: …${head.reasoning_tail}`);
  }
}
