// The state of one debate: its turns, its verdict, and what follows from them.

import { disputedItems } from "./labels.js";

/** @import { Evidence } from "./evidence.js" */
/** @import { Kind, Labels, Values } from "./labels.js" */
/** @import { Roles } from "./roles.js" */

/** @typedef {{ id: string, fields: Record<string, string>, note: string }} DocumentData */
/**
 * A turn as the studio sends it (`core/services/live_state.py`). `text` is the part of the reply from `offset` to `end`, in code
 * points; `attempt` counts its attempts. `labels` are the labels that the reply assigns, null if it decides
 * nothing and for ratings; `values` leave out what it left open.
 *
 * @typedef {object} TurnEvent
 * @property {"turn"} kind
 * @property {string} document_id
 * @property {number} turn
 * @property {string} role
 * @property {string} model
 * @property {boolean} cached
 * @property {number} round
 * @property {string[]} replies_to Roles whose replies were inputs of this turn.
 * @property {string} item The only label that the turn is about, or empty.
 * @property {number} attempt
 * @property {number} offset
 * @property {number} end
 * @property {string} text
 * @property {boolean} done
 * @property {string[] | null} [labels]
 * @property {Values | null} [values]
 * @property {string[]} [unknown] Names in the reply that are not in the codebook.
 * @property {Record<string, number>} [certainty] Probability of the words of each decision, 0 to 1.
 * @property {Evidence[]} [evidence]
 * @property {number} [completion_tokens]
 * @property {number | null} [cost_usd]
 * @property {number} [seconds]
 * @property {string} [problem] The reason why the reply could not be read.
 * @property {string} [reasoning]
 * @property {number} [tokens] Tokens so far, by the length of the text. This property and all below exist only while the turn is not done.
 * @property {number} [elapsed] Seconds.
 * @property {number} [reasoning_characters] Characters of reasoning so far.
 * @property {string} [reasoning_tail] The end of the reasoning so far.
 * @property {string} [waiting] The reason why no reply is being written: a failed attempt, or the state of the run.
 * @property {boolean} [restart] Set by the client: the text starts from the beginning.
 * @property {boolean} [replay] Set by a replay.
 */
/**
 * @typedef {object} VerdictEvent
 * @property {"verdict"} kind
 * @property {string} document_id
 * @property {"verdict" | "unresolved" | "failed"} status
 * @property {Values} values
 * @property {Record<string, string>} reasons Reasons of unresolved items.
 * @property {string[]} notes
 * @property {string} error
 */
/**
 * The data that all debates of a run share.
 * @typedef {{ labels: Labels, roles: Roles, kind: Kind }} RunInfo
 */

export class Debate {
  /** @param {string} id @param {RunInfo} run */
  constructor(id, run) {
    this.id = id;
    this.run = run;
    /** @type {DocumentData | null} */
    this.document = null;
    /** @type {Map<number, TurnEvent>} */
    this.turns = new Map();
    /** @type {VerdictEvent | null} */
    this.verdict = null;
    /** Items on which the replies differ. @type {Set<string>} */
    this.disputed = new Set();
  }

  /**
   * Add a turn, or a later state of it.
   *
   * @param {TurnEvent} turn
   */
  addTurn(turn) {
    this.turns.set(turn.turn, turn);
    if (turn.done) this.disputed = disputedItems(this.doneTurns.map((one) => this.opinion(one)));
  }

  /** Turns in order. */
  get orderedTurns() {
    return [...this.turns.values()].sort((a, b) => a.turn - b.turn);
  }

  get doneTurns() {
    return this.orderedTurns.filter(({ done }) => done);
  }

  /** Finished turns whose reply assigns labels. */
  get labelTurns() {
    return /** @type {(TurnEvent & { labels: string[] })[]} */ (this.doneTurns.filter((turn) => turn.labels));
  }

  /** Evidence of all finished turns. */
  get evidence() {
    return this.doneTurns.flatMap(({ evidence = [] }) => evidence);
  }

  /**
   * Return the values that a turn gives to the labels that it is about; empty for a turn without a decision.
   *
   * @param {TurnEvent} turn
   * @returns {Values}
   */
  opinion({ labels, values }) {
    if (this.run.kind !== "choice") return values ?? {};
    if (!labels) return {};
    return Object.fromEntries([...this.run.labels.keys()].map((id) => [id, labels.includes(id)]));
  }

  /**
   * Return true if a turn decides on a label: on every label, if it is not about only one.
   *
   * @param {TurnEvent} turn
   * @param {string} label
   */
  isAbout({ item }, label) {
    return !item || item === label || this.run.kind === "choice";
  }
}
