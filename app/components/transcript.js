// A debate that has been held, drawn at once.

import { Debate, normal } from "./debate.js";
import { el } from "./dom.js";
import { labelBook } from "./labels.js";
import { roleBook } from "./roles.js";
import { TurnView } from "./turn_view.js";
import { ruling } from "./verdict.js";

export default function (component) {
  const root = component.parentElement.querySelector(".transcript-root");
  const data = component.data || {};
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn) return;
  root.drawn = drawn;
  root.classList.toggle("framed", Boolean(data.framed));
  root.style.setProperty("--room", data.height ? `${data.height}px` : "none");
  root.replaceChildren(...heldDebate(data));
}

// A debate that has been held: its turns and what it ended in, as nodes. data = {document, events, labels, roles, kind, hidden}
export function heldDebate(data) {
  const board = { labels: labelBook(data.labels), roles: roleBook(data.roles), kind: data.kind, playing: null, documentStale: false };
  const debate = (board.debate = new Debate(board, data.document.id));
  debate.setDocument(data.document);
  for (const event of data.events) {
    if (event.kind === "turn") debate.turns.set(event.turn, normal(event, data.kind));
    else if (event.kind === "verdict") debate.verdict = event;
  }
  debate.settleDisputes();
  const nodes = [];
  for (const event of debate.ordered) {
    if (data.hidden && data.hidden.includes(event.role)) continue;
    const view = new TurnView(board);
    view.text = event.text;
    view.said.classList.toggle("raw", /^\s*[{[]|^\s*```/.test(event.text));
    view.setHead(event);
    nodes.push(view.node);
  }
  if (debate.verdict) nodes.push(el("div", "ruling", ...ruling(debate.verdict, board.labels, board.kind)));
  return nodes;
}
