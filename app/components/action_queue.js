// Perform actions in the order in which they were added, one at a time.

export class ActionQueue {
  /** @type {(() => unknown)[]} */
  waiting = [];
  busy = false;

  /**
   * Add an action. It is performed at once if no other one is active. If it returns a promise, the next action waits
   * for it.
   *
   * @param {() => unknown} action
   */
  add(action) {
    this.waiting.push(action);
    if (!this.busy) this.perform();
  }

  async perform() {
    this.busy = true;
    for (let action = this.waiting.shift(); action; action = this.waiting.shift()) {
      try {
        const result = action();
        if (result instanceof Promise) await result;
      } catch (error) {
        console.error(error);
      }
    }
    this.busy = false;
  }
}
