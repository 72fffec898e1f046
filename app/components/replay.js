// Replay a finished debate word by word.

import { Debate } from "./debate_state.js";
import { DebateView } from "./debate_view.js";

/** @import { TurnEvent } from "./debate_state.js" */

const WORDS_PER_SECOND = 26;
const PAUSE_SECONDS = 0.45; // between two turns

export class Replay {
  /**
   * @param {DebateView} original
   * @param {object} callbacks
   * @param {(isNews: boolean) => void} callbacks.onChange Called in each frame; with true if a turn began or ended.
   * @param {() => void} callbacks.onEnd
   */
  constructor(original, { onChange, onEnd }) {
    const { debate, hiddenRoles, views } = original;
    this.onChange = onChange;
    this.onEnd = onEnd;
    this.view = new DebateView(new Debate(debate.id, debate.run));
    this.view.debate.document = debate.document;
    this.view.hideRoles(hiddenRoles);
    const turns = debate.doneTurns.filter(({ role }) => !hiddenRoles.has(role));
    this.script = turns.flatMap((turn) => scriptOf(turn, views.get(turn.turn)?.text ?? ""));
    this.due = 0;
    this.last = performance.now();
    this.frame = requestAnimationFrame((now) => this.step(now));
  }

  /** @param {number} now */
  step(now) {
    this.due += ((now - this.last) / 1000) * WORDS_PER_SECOND;
    this.last = now;
    let isNews = false;
    while (this.due >= 1) {
      const event = this.script.shift();
      if (!event) {
        this.onEnd();
        return;
      }
      this.view.showTurn(event);
      this.due -= 1;
      isNews ||= event.done || Boolean(event.restart);
      if (event.done) this.due = -WORDS_PER_SECOND * PAUSE_SECONDS;
    }
    this.onChange(isNews);
    this.frame = requestAnimationFrame((time) => this.step(time));
  }

  stop() {
    cancelAnimationFrame(this.frame);
  }
}

/**
 * Return the events of a turn: one per word, and the complete turn at the end.
 *
 * @param {TurnEvent} turn
 * @param {string} text
 * @returns {TurnEvent[]}
 */
function scriptOf(turn, text) {
  const words = text.match(/\s*\S{1,12}\s*|\s+/gu) ?? [text]; // Chinese, for example, has no spaces
  const running = { ...turn, done: false, labels: null, values: null, evidence: [], replay: true };
  return [
    ...words.map((word, index) => ({ ...running, text: word, restart: index === 0 })),
    { ...turn, text: "", restart: false, replay: true },
  ];
}
