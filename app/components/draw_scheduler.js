// Schedule the drawing of the parts of a live run: at most once per frame, and less often for secondary parts.

/** @typedef {"counters" | "tiles" | "debate"} Part */

/** Least milliseconds between two drawings of a part. @type {Record<Part, number>} */
const INTERVALS = { counters: 500, tiles: 250, debate: 0 };
// Pause after a frame as a multiple of its drawing time, because a slow machine also executes the run.
const REST_FACTOR = 4;
const MAX_REST_MS = 250;

export class DrawScheduler {
  /**
   * @param {() => void} prepare Called at the start of a frame.
   * @param {Record<Part, () => void>} parts
   */
  constructor(prepare, parts) {
    this.prepare = prepare;
    this.parts = parts;
    /** @type {Set<Part>} */
    this.dirty = new Set();
    /** Times at which the parts were drawn. @type {Partial<Record<Part, number>>} */
    this.drawnAt = {};
    this.wanted = false;
    this.frame = 0;
    this.resting = false;
    /** The node to scroll to its end with the next frame. @type {Element | null} */
    this.scroll = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.restTimer = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.dueTimer = undefined;
  }

  stop() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.restTimer);
    clearTimeout(this.dueTimer);
    this.frame = -1; // -1: no frame is requested
  }

  /**
   * Draw parts after their interval.
   *
   * @param {...Part} parts
   */
  mark(...parts) {
    for (const part of parts) this.dirty.add(part);
    this.wanted = true;
    if (!this.frame && !this.resting) this.frame = requestAnimationFrame(() => this.draw());
  }

  /**
   * Draw parts with the next frame, after an action of the user.
   *
   * @param {...Part} parts
   */
  show(...parts) {
    for (const part of parts) delete this.drawnAt[part];
    clearTimeout(this.restTimer);
    this.resting = false;
    this.mark(...parts);
  }

  draw() {
    this.frame = 0;
    const now = performance.now();
    this.rest(now);
    this.prepare();
    let wait = Infinity;
    for (const part of /** @type {Part[]} */ (["counters", "tiles", "debate"])) {
      if (!this.dirty.has(part)) continue;
      const left = (this.drawnAt[part] ?? -Infinity) + INTERVALS[part] - now;
      if (left > 0) wait = Math.min(wait, left);
      else {
        this.dirty.delete(part);
        this.drawnAt[part] = now;
        this.parts[part]();
      }
    }
    if (wait < Infinity) {
      clearTimeout(this.dueTimer);
      this.dueTimer = setTimeout(() => this.mark(), wait);
    }
    if (this.scroll) this.scroll.scrollTop = this.scroll.scrollHeight;
    this.scroll = null;
    this.wanted = false;
  }

  /**
   * Request the next frame only after this one is painted and a pause.
   *
   * @param {number} start
   */
  rest(start) {
    this.resting = true;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      // This message arrives after the frame was painted.
      port1.close();
      if (!this.resting) return;
      const wait = Math.min(MAX_REST_MS, REST_FACTOR * (performance.now() - start));
      this.restTimer = setTimeout(() => {
        this.resting = false;
        if (this.wanted) this.mark();
      }, wait);
    };
    port2.postMessage(null);
  }
}
