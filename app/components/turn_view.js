// One turn of a debate. While a reply is written, text is only appended; quotes are marked when it is complete.

import { el, icon, setText } from "./dom.js";
import { formatCount, formatFixed, formatMoney, formatRate } from "./format.js";
import { findLabel, labelTag } from "./labels.js";
import { isData, replyNodes } from "./reply_text.js";
import { avatar, findRole } from "./roles.js";

/** @import { Debate, TurnEvent } from "./debate_state.js" */
/** @import { Labels } from "./labels.js" */
/** @import { Roles } from "./roles.js" */

const MAX_NAMED = 4;

export class TurnView {
  line = "";
  tail = document.createTextNode("");
  lineNode = el("span");

  /** @param {Debate} debate */
  constructor(debate) {
    this.debate = debate;
    this.text = "";
    /** @type {TurnEvent | null} */
    this.turn = null;
    this.role = "";
    this.side = el("div");
    this.head = el("div", "turn-head");
    this.caret = el("span", "caret hidden");
    this.reply = el("div", { className: "reply", ariaLive: "off" }, this.caret);
    this.details = el("div");
    this.reasoning = el("div", "reasoning-preview hidden");
    this.startLine();
    this.node = el("article", "turn", this.side, el("div", "", this.head, this.reply, this.reasoning, this.details));
  }

  /** @param {TurnEvent} turn */
  update(turn) {
    const completed = turn.done && (turn.restart || !this.turn?.done);
    if (turn.restart) this.clear();
    this.append(turn.text);
    this.turn = turn;
    this.drawRole(turn.role);
    this.drawHead(turn);
    if (completed) this.drawReply(turn);
    this.drawReasoning(turn);
  }

  clear() {
    this.text = "";
    this.reply.replaceChildren(this.caret);
    this.details.replaceChildren();
    this.startLine();
  }

  startLine() {
    this.line = "";
    this.tail = document.createTextNode("");
    this.lineNode = el("span", "", this.tail);
    this.caret.before(this.lineNode);
  }

  /** @param {string} text */
  append(text) {
    this.text += text;
    this.reply.classList.toggle("data", isData(this.text)); // its first words may be only white space
    text.split("\n").forEach((piece, index) => {
      if (index > 0) {
        this.drawLine();
        this.lineNode.append("\n");
        this.startLine();
      }
      this.line += piece;
      this.tail.appendData(piece);
      if (piece.includes("*")) this.drawLine();
    });
  }

  /** Redraw the last line with its bold words. */
  drawLine() {
    this.tail = document.createTextNode("");
    this.lineNode.replaceChildren(...replyNodes(this.line, this.debate.run.labels), this.tail);
  }

  /** @param {string} id */
  drawRole(id) {
    if (this.role === id) return;
    this.role = id;
    const role = findRole(this.debate.run.roles, id);
    Object.assign(this.node, { className: `turn ${role.colour}`, ariaLabel: role.name });
    this.side.replaceChildren(avatar(role, { filled: role.colour === "judge" }));
  }

  /** @param {TurnEvent} turn */
  drawHead(turn) {
    const { roles } = this.debate.run;
    const inputs = describeInputs(turn, roles);
    const model = el("span", "ellipsis", turn.model);
    const source = inputs && !turn.replay ? el("span", "inputs ellipsis", icon("reply"), ` ${inputs}`) : "";
    this.head.replaceChildren(
      el("span", "role-name", findRole(roles, turn.role).name),
      el("span", "about", model, source),
      ...(turn.replay ? [el("span", "numbers", "replay")] : progressNodes(turn)),
    );
    const speaking = !turn.done && !turn.waiting;
    this.node.classList.toggle("active", speaking);
    this.caret.classList.toggle("hidden", !speaking);
  }

  /** @param {TurnEvent} turn */
  drawReply(turn) {
    const { debate } = this;
    const nodes = replyNodes(this.text, debate.run.labels, turn.evidence ?? [], debate.disputed);
    this.reply.replaceChildren(...nodes, this.caret);
    this.details.replaceChildren(
      ...detailNodes(turn, debate.run.labels),
      ...decisionNodes(turn, debate),
      ...certaintyNodes(turn, debate),
    );
  }

  /** @param {TurnEvent} turn */
  drawReasoning(turn) {
    const visible = !turn.done && Boolean(turn.reasoning_characters) && !this.text;
    this.reasoning.classList.toggle("hidden", !visible);
    if (visible)
      setText(
        this.reasoning,
        `reasoning, ${formatCount(turn.reasoning_characters ?? 0)} characters: …${turn.reasoning_tail}`,
      );
  }
}

/**
 * Describe the inputs of a turn: "replies to Critic", "weighs both replies".
 *
 * @param {TurnEvent} turn
 * @param {Roles} roles
 */
export function describeInputs(turn, roles) {
  const names = turn.replies_to.filter((role) => role !== turn.role).map((role) => findRole(roles, role).name);
  if (!names.length) return turn.replies_to.length ? "revises its own reply" : "";
  if (names.length === 1) return `replies to ${names[0]}`;
  if (names.length === 2 && findRole(roles, turn.role).colour === "judge") return "weighs both replies";
  if (names.length > MAX_NAMED) return `replies to ${names.length} others`;
  return `replies to ${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** @param {TurnEvent} turn @returns {Node[]} */
function progressNodes(turn) {
  if (turn.done) {
    const seconds = turn.seconds ?? 0;
    const numbers = [
      turn.cached || seconds < 0.05 ? "" : `${formatFixed(seconds, 1)} s`,
      turn.completion_tokens ? `${formatCount(turn.completion_tokens)} tokens` : "",
      turn.cached ? "reused" : turn.cost_usd === null || turn.cost_usd === undefined ? "" : formatMoney(turn.cost_usd),
    ];
    return [el("span", "numbers", numbers.filter(Boolean).join("   "))];
  }
  if (turn.waiting) return [el("span", "turn-state waiting", turn.waiting)];
  const { tokens = 0, elapsed = 0 } = turn;
  const rate = elapsed > 0.7 ? `, ${formatRate(tokens / elapsed)} per s` : "";
  const count = tokens ? [el("span", "", `about ${formatCount(tokens)} tokens${rate}`)] : [];
  return [...count, el("span", "turn-state", "speaking")];
}

/**
 * Show the reasoning of a turn and what could not be read in its decision. A second answer may repeat a label that was
 * not offered.
 *
 * @param {TurnEvent} turn
 * @param {Labels} labels
 * @returns {Node[]}
 */
function detailNodes({ reasoning, problem, unknown = [] }, labels) {
  const nodes = [];
  const names = new Set([...labels.values()].map(({ name }) => name.toLowerCase()));
  const missing = unknown.filter((name) => !names.has(name.toLowerCase()) && !problem?.includes(`"${name}"`));
  if (reasoning) {
    const summary = el("summary", "", `Reasoning, ${formatCount(reasoning.length)} characters`);
    nodes.push(el("details", "reasoning", summary, el("div", "", reasoning)));
  }
  if (missing.length) {
    nodes.push(el("div", "decision", el("span", "tiny unres", `not in codebook: ${missing.join(", ")}`)));
  }
  if (problem) {
    const badge = el("span", "badge unres", icon("help"), "unreadable");
    nodes.push(el("div", "decision", badge, el("span", "tiny unres", problem)));
  }
  return nodes;
}

/**
 * Show the labels that a turn keeps, adds and removes, compared with the turn that it answers.
 *
 * @param {TurnEvent} turn
 * @param {Debate} debate
 * @returns {Node[]}
 */
function decisionNodes(turn, debate) {
  const { labels, kind } = debate.run;
  const row = el("div", "decision");
  const order = [...labels.keys()];
  /** @param {string} verb @param {string[]} ids @param {boolean} [absent] */
  const add = (verb, ids, absent) => {
    const sorted = ids.toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
    row.append(el("span", "muted tiny", verb), ...sorted.map((id) => labelTag(findLabel(labels, id), { absent })));
  };
  if (kind === "rating") {
    const { values } = turn;
    if (!values) return [];
    const rated = order.filter((id) => values[id] !== undefined && values[id] !== null);
    row.append(el("span", "muted tiny", "rates"));
    row.append(...rated.map((id) => labelTag(findLabel(labels, id), { rating: values[id] })));
    return [row];
  }
  const own = turn.labels;
  if (!own) return [];
  const judge = findRole(debate.run.roles, turn.role).colour === "judge";
  const earlier = comparedLabels(turn, debate);
  if (!earlier) {
    add(!own.length ? "no label" : kind === "choice" ? "chooses" : "assigns", own);
  } else if (kind === "choice" && own.length && (judge || own.join() !== earlier.join())) {
    add(judge ? "decides" : "changes to", own.slice(0, 1));
  } else {
    const kept = own.filter((id) => earlier.includes(id));
    const added = own.filter((id) => !earlier.includes(id));
    const removed = earlier.filter((id) => !own.includes(id));
    if (kept.length) add(judge ? "decides" : "keeps", kept);
    if (added.length) add("adds", added);
    if (removed.length) add("removes", removed, true);
    if (!row.hasChildNodes()) add("no label", []);
  }
  return [row];
}

/**
 * Show the probabilities of the words of a decision, the least certain first.
 *
 * @param {TurnEvent} turn
 * @param {Debate} debate
 * @returns {Node[]}
 */
function certaintyNodes({ certainty = {} }, debate) {
  const sure = Object.entries(certainty).toSorted(([, a], [, b]) => a - b);
  if (!sure.length) return [];
  const words = sure.map(([id, value]) => {
    const name = debate.run.labels.has(id) ? `${findLabel(debate.run.labels, id).name} ` : "";
    return `${name}${formatFixed(value, 2)}`;
  });
  return [el("div", "decision", el("span", "muted tiny", `certainty ${words.join(", ")}`))];
}

/**
 * Return the labels that a turn is compared with, or null if there are none. Panelists and advocates answer for
 * themselves, a judge answers everybody, and the others answer the turn before them. A turn about one label is compared
 * with decisions on this label.
 *
 * @param {TurnEvent} turn
 * @param {Debate} debate
 * @returns {string[] | null}
 */
function comparedLabels(turn, debate) {
  const { colour } = findRole(debate.run.roles, turn.role);
  const { item } = turn;
  const before = debate.labelTurns
    .filter((other) => other.turn < turn.turn && (!item || debate.isAbout(other, item)))
    .map(({ role, labels }) => ({ role, labels: labels.filter((id) => debate.isAbout(turn, id)) }));
  if (colour === "judge" && before.length) return [...new Set(before.flatMap(({ labels }) => labels))];
  const alone = colour === "panelist" || colour === "advocate";
  return before.filter((other) => !alone || other.role === turn.role).at(-1)?.labels ?? null;
}
