// The connection to the studio that receives live debates (`app/api/live_socket.py`).
//
// The studio sends only text that this connection has not received. So the client keeps a cursor for each turn and sends
// the cursors whenever it reconnects. Neither a reload nor a lost connection then loses or repeats text.

/** @import { DocumentData, TurnEvent, VerdictEvent } from "./debate_state.js" */
/** @import { Values } from "./labels.js" */

/**
 * @typedef {object} RunStatusEvent
 * @property {"run_status"} kind
 * @property {"queued" | "running" | "paused" | "done" | "stopped" | "failed"} state
 * @property {number} documents
 * @property {number} verdicts
 * @property {number} unresolved
 * @property {number} failed
 * @property {number} in_flight
 * @property {number} calls
 * @property {number} cached_calls
 * @property {number} estimated_calls Paid calls whose cost is estimated.
 * @property {number | null} cost_usd
 * @property {number} seconds
 * @property {number} rate Documents per minute.
 * @property {number | null} eta_seconds
 * @property {string} message
 * @property {string} stop_code The reason why the run is not active.
 */
/**
 * A summary of a debate. `status` and `values` are set after its end.
 *
 * @typedef {object} TileEvent
 * @property {"tile"} kind
 * @property {string} document_id
 * @property {Record<string, number>} progress Share of the expected turns by role.
 * @property {string[]} labels
 * @property {string} role
 * @property {string} tail The end of the reply that is being written.
 * @property {string} waiting
 * @property {number} wait Seconds.
 * @property {"verdict" | "unresolved" | "failed"} [status]
 * @property {Values} [values]
 * @property {string} [reason]
 */
/** The document is debated again. @typedef {{ kind: "restart", document_id: string }} RestartEvent */
/** @typedef {TurnEvent | VerdictEvent | RunStatusEvent | TileEvent | RestartEvent} LiveEvent */
/** @typedef {{ query: string, status: string, offset: number }} FinishedQuery */
/**
 * @typedef {object} FinishedRow
 * @property {string} document_id
 * @property {"verdict" | "unresolved" | "failed"} status
 * @property {Values} values
 * @property {string} text_start The beginning of the text.
 */
/** @typedef {{ type: "snapshot", instance: string, document?: DocumentData | null, events: LiveEvent[] }} Snapshot */
/** @typedef {{ type: "batch", events: LiveEvent[] }} Batch */
/** @typedef {FinishedQuery & { type: "finished", total: number, rows: FinishedRow[] }} FinishedPage */
/** @typedef {{ type: "gone" }} Gone */
/** @typedef {Snapshot | Batch | FinishedPage | Gone} LiveMessage */
/**
 * "open": connected. "lost": the client reconnects after some seconds. "refused": the page has no access.
 * @typedef {"open" | "lost" | "refused"} ConnectionState
 */

const ADDRESS = "/moot/live";
const RETRY_SECONDS = [0.3, 0.6, 1.2, 2.5, 5, 8];
const OPEN = 1;
const POLICY_VIOLATION = 1008; // The studio refused a message.

export class LiveClient {
  /**
   * @param {object} options
   * @param {string} options.run
   * @param {() => void} options.onMessage Called when messages can be `read`.
   * @param {(state: ConnectionState, seconds: number) => void} [options.onConnection]
   * @param {(address: string) => WebSocket} [options.connect]
   * @param {() => Promise<boolean>} [options.isRefused] Called after repeated failures.
   */
  constructor({ run, onMessage, onConnection = () => {}, connect = openSocket, isRefused = lacksAccess }) {
    this.run = run;
    this.onMessage = onMessage;
    this.onConnection = onConnection;
    this.openSocket = connect;
    this.isRefused = isRefused;
    /** The debate that is followed in full. @type {string | null} */
    this.document = null;
    /** The studio's id of this state of the run. Cursors of another state are invalid. */
    this.instance = "";
    /** Attempt and number of received characters of each turn. @type {Map<number, [number, number]>} */
    this.cursors = new Map();
    /** @type {LiveMessage[]} */
    this.inbox = [];
    this.attempts = 0;
    this.closed = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  connect() {
    const socket = this.openSocket(ADDRESS);
    this.socket = socket;
    socket.onopen = () => {
      this.watch();
      this.onConnection("open", 0);
    };
    socket.onmessage = ({ data }) => {
      this.attempts = 0;
      this.inbox.push(JSON.parse(data));
      this.onMessage();
    };
    socket.onclose = ({ code }) => {
      if (code === POLICY_VIOLATION) this.cursors.clear(); // The same cursors would be refused again.
      this.reconnect();
    };
  }

  reconnect() {
    this.socket = null;
    if (this.closed) return;
    const delay = RETRY_SECONDS[Math.min(this.attempts, RETRY_SECONDS.length - 1)];
    const seconds = delay * (0.8 + 0.4 * Math.random());
    this.attempts += 1;
    if (this.attempts > 1) {
      this.onConnection("lost", seconds);
      this.isRefused().then((refused) => refused && this.onConnection("refused", seconds));
    }
    this.timer = setTimeout(() => this.connect(), 1000 * seconds);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  /**
   * Follow only this debate, from its first word.
   *
   * @param {string | null} document
   */
  follow(document) {
    this.document = document;
    this.cursors.clear();
    this.watch();
  }

  /** @param {FinishedQuery} query */
  listFinished({ query, status, offset }) {
    this.send({ type: "finished", query, status, offset });
  }

  watch() {
    const cursors = Object.fromEntries(this.cursors);
    this.send({ type: "watch", run: this.run, focus: this.document, instance: this.instance, cursors });
  }

  /** @param {object} message */
  send(message) {
    if (this.socket?.readyState === OPEN) this.socket.send(JSON.stringify(message));
  }

  /**
   * Return the messages since the last call. Turns are those of the debate that is followed, without gaps.
   *
   * @returns {LiveMessage[]}
   */
  read() {
    return this.inbox.splice(0).map((message) => {
      if (message.type === "snapshot" && message.instance !== this.instance) {
        this.cursors.clear();
        this.instance = message.instance;
      }
      if (!("events" in message)) return message;
      return { ...message, events: message.events.filter((event) => event.kind !== "turn" || this.advance(event)) };
    });
  }

  /**
   * Advance the cursor of a turn. Sets `restart` if the text starts again. Requests a gap, and returns false for it.
   *
   * @param {TurnEvent} event
   */
  advance(event) {
    if (event.document_id !== this.document) return false;
    const cursor = this.cursors.get(event.turn);
    event.restart = cursor?.[0] !== event.attempt || cursor[1] !== event.offset;
    if (event.restart && event.offset !== 0) {
      this.cursors.delete(event.turn);
      this.watch();
      return false;
    }
    this.cursors.set(event.turn, [event.attempt, event.end]);
    return true;
  }
}

/** @param {string} address */
function openSocket(address) {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(`${scheme}//${location.host}${address}`);
}

/** Return true if the studio answers without access, for example for an old cookie after a restart. */
async function lacksAccess() {
  const response = await fetch("/_stcore/health").catch(() => null);
  return response?.status === 403;
}
