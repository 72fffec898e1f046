// Measure the time that a reviewer spends on a document.

const IDLE_MS = 60_000; // Without user activity, time stops counting after this.

export class Stopwatch {
  start = performance.now();
  lastActivity = this.start;
  counted = 0;

  restart() {
    this.start = performance.now();
    this.lastActivity = this.start;
    this.counted = 0;
  }

  noteActivity() {
    const now = performance.now();
    if (now - this.lastActivity > IDLE_MS) {
      this.counted += this.lastActivity + IDLE_MS - this.start;
      this.start = now;
    }
    this.lastActivity = now;
  }

  /** Seconds, at least 0.1. */
  get seconds() {
    const end = Math.min(performance.now(), this.lastActivity + IDLE_MS);
    return Math.max(0.1, Math.round((this.counted + end - this.start) / 100) / 10);
  }
}
