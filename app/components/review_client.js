// Send the actions of a reviewer to the studio, and request data (`app/api/review.py`).
//
// Actions are sent in order, waiting ones in one request. An action is sent again under the same id until the studio
// answers; the studio performs each id once.

/** @typedef {Record<string, unknown>} Fields */
/**
 * The answer to an action: when it was saved, the documents that it changed, and when they were read.
 * `problem` and `remedy` explain a refusal.
 *
 * @typedef {{ saved: string, touched: string[], read: number, problem?: string, remedy?: string }} ActionAnswer
 */
/** @typedef {{ message: Fields, resolve: (answer: ActionAnswer | null) => void }} PendingAction */
/**
 * "saved": all actions are saved. "idle": no action yet. "lost": the studio does not answer. "refused": not saved.
 * "gone": the studio has no data for this page any more.
 * @typedef {"saving" | "saved" | "idle" | "lost" | "refused" | "gone"} SaveState
 */

const ADDRESS = "/moot/review";
const MAX_ACTIONS = 40;
const RETRY_MS = [250, 500, 1000, 2000];
const KEEPALIVE_BYTES = 60_000;
/** The studio refuses a longer note. */
export const MAX_NOTE = 4000;

/** The studio cannot store anything for now, for example on a full disk. Its message says why. */
class StudioFault extends Error {}

export class ReviewClient {
  /**
   * @param {{ run: string, actor: string }} head Sent with every request.
   * @param {(state: SaveState, text: string) => void} onState
   */
  constructor(head, onState) {
    this.head = head;
    this.onState = onState;
    this.name = Math.random().toString(36).slice(2, 12);
    this.count = 0;
    /** Actions without an answer, in order. @type {PendingAction[]} */
    this.pending = [];
    this.sending = false;
    this.closed = false;
    this.isAnswered = true; // The studio answered the last request.
    this.listeners = new AbortController();
    const { signal } = this.listeners;
    window.addEventListener("beforeunload", (event) => this.warnBeforeLoss(event), { signal });
    window.addEventListener("pagehide", () => this.flushOnUnload(), { signal });
  }

  /**
   * Request data, repeatedly until the studio answers or the client is closed.
   *
   * @param {string} name
   * @param {Fields} fields
   * @returns {Promise<any>} Never resolves if the studio refuses it, for example because the project was closed.
   */
  async query(name, fields) {
    const { status, body } = await this.deliver({ query: name, ...fields }, () => !this.closed);
    if (status === 200) return body;
    this.onState("gone", `${body} Reload the page.`);
    return new Promise(() => {});
  }

  /** Stop requesting data. Actions are still sent. */
  close() {
    this.closed = true;
    if (!this.pending.length) this.listeners.abort();
  }

  /**
   * Perform an action. Resolves to null if the studio refuses it, after `onState` received the reason.
   *
   * @param {string} name
   * @param {Fields} fields
   * @returns {Promise<ActionAnswer | null>}
   */
  act(name, fields) {
    this.count += 1;
    const message = { action: name, id: `${this.name}:${this.count}`, ...fields };
    this.onState("saving", "");
    return new Promise((resolve) => {
      this.pending.push({ message, resolve });
      if (!this.sending) this.sendPending();
    });
  }

  async sendPending() {
    this.sending = true;
    while (this.pending.length) {
      const batch = this.pending.slice(0, MAX_ACTIONS);
      const { status, body } = await this.deliver({ actions: batch.map(({ message }) => message) }, () => true);
      this.pending.splice(0, batch.length);
      batch.forEach((action, index) => {
        const answer = status === 200 ? body.answers?.[index] : undefined;
        this.onAnswer(action, answer ? { ...answer, read: body.read } : null);
      });
    }
    this.sending = false;
    if (this.closed) this.listeners.abort();
  }

  /**
   * Post a message repeatedly until the studio answers.
   *
   * @param {Fields} message
   * @param {() => boolean} isWanted Returns true to try again.
   * @returns {Promise<{ status: number, body: any }>} Never resolves if the answer is no longer wanted.
   */
  async deliver(message, isWanted) {
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await this.post(message);
        this.isAnswered = true;
        if (attempt && !this.pending.length) this.onState("idle", "");
        return answer;
      } catch (error) {
        this.isAnswered = false;
        if (!isWanted()) return new Promise(() => {});
        const reason = error instanceof StudioFault ? error.message : "The studio does not answer.";
        this.onState("lost", `${this.pending.length ? "Not saved yet. " : ""}${reason} Trying again.`);
        const wait = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)];
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  /** @param {PendingAction} action @param {ActionAnswer | null} answer */
  onAnswer({ resolve }, answer) {
    if (!answer || answer.problem) {
      const text = answer ? `${answer.problem} ${answer.remedy}` : "The studio refused this. Reload the page.";
      this.onState("refused", text);
      resolve(null);
      return;
    }
    if (!this.pending.length) this.onState(answer.saved ? "saved" : "idle", answer.saved);
    resolve(answer);
  }

  /**
   * Ask before the tab is closed while actions wait for a studio that does not answer.
   *
   * @param {BeforeUnloadEvent} event
   */
  warnBeforeLoss(event) {
    if (this.pending.length && !this.isAnswered) event.preventDefault();
  }

  /** Send the actions without an answer again, in a request that continues after the page is closed. */
  flushOnUnload() {
    if (this.pending.length) this.post({ actions: this.pending.map(({ message }) => message) }).catch(() => null);
  }

  /** @param {Fields} message @returns {Promise<{ status: number, body: any }>} */
  async post(message) {
    const body = JSON.stringify({ ...this.head, ...message });
    const response = await fetch(ADDRESS, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/json" },
      keepalive: new TextEncoder().encode(body).length < KEEPALIVE_BYTES,
    });
    // 403: the studio was started again, and accepts the tab after its new address was opened.
    if (response.status === 503) throw new StudioFault(await response.text());
    if (response.status >= 500 || response.status === 403) throw new Error(`status ${response.status}`);
    const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
    return { status: response.status, body: isJson ? await response.json() : await response.text() };
  }
}
