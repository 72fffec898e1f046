// A debate as a list of turns with the verdict below them.

import { el } from "./dom.js";
import { TurnView } from "./turn_view.js";
import { verdictNodes } from "./verdict.js";

/** @import { Debate, TurnEvent, VerdictEvent } from "./debate_state.js" */

export class DebateView {
  /** @param {Debate} debate */
  constructor(debate) {
    this.debate = debate;
    /** @type {Map<number, TurnView>} */
    this.views = new Map();
    /** @type {Set<string>} */
    this.hiddenRoles = new Set();
    this.verdict = el("div", "verdict hidden");
    this.node = el("div", "", this.verdict);
  }

  /** @param {TurnEvent} turn */
  showTurn(turn) {
    const { disputed } = this.debate;
    this.debate.addTurn(turn);
    let view = this.views.get(turn.turn);
    if (!view) {
      view = new TurnView(this.debate);
      this.views.set(turn.turn, view);
      const next = Math.min(...[...this.views.keys()].filter((number) => number > turn.turn));
      this.node.insertBefore(view.node, this.views.get(next)?.node ?? this.verdict);
    }
    view.update(turn);
    this.redrawReplies(disputed);
    view.node.classList.toggle("hidden", this.hiddenRoles.has(turn.role));
  }

  /** @param {TurnEvent | VerdictEvent} event */
  show(event) {
    if (event.kind === "turn") this.showTurn(event);
    else this.showVerdict(event);
  }

  /**
   * Redraw complete replies with quotes of labels that have become disputed, or are no longer.
   *
   * @param {Set<string>} before Labels that were disputed.
   */
  redrawReplies(before) {
    const { disputed: now } = this.debate;
    if (now === before) return;
    for (const view of this.views.values()) {
      const { turn } = view;
      if (turn?.done && turn.evidence?.some(({ item }) => before.has(item) !== now.has(item))) view.drawReply(turn);
    }
  }

  /** @param {VerdictEvent} verdict */
  showVerdict(verdict) {
    this.debate.verdict = verdict;
    this.verdict.classList.remove("hidden");
    this.verdict.replaceChildren(...verdictNodes(verdict, this.debate.run));
  }

  /** @param {Iterable<string>} roles */
  hideRoles(roles) {
    this.hiddenRoles = new Set(roles);
    for (const { node, role } of this.views.values()) node.classList.toggle("hidden", this.hiddenRoles.has(role));
  }
}
