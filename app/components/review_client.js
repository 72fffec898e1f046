// How a page of Review asks and tells. Acts go out in the order in which they were done, whatever is waiting in one
// request; what got no answer is told again, under the same names, until it has one: the studio does nothing twice.

export class Teller {
  constructor(address, head) {
    this.address = address;
    this.head = head; // {run, actor}, sent with everything
    this.life = Math.random().toString(36).slice(2, 12);
    this.number = 0;
    this.open = []; // acts without an answer, in order: {message, done}
    this.sending = 0;
    this.onState = () => {}; // ("saving" | "saved" | "idle" | "lost" | "refused", words)
    window.addEventListener("pagehide", () => this.lastWords());
  }

  async ask(what, more) {
    return (await this.post({ ask: what, ...more })).told;
  }

  // Resolves to what the studio answers; to null when it refuses, which onState has said then.
  act(name, more) {
    const message = { act: name, once: `${this.life}:${++this.number}`, ...more };
    this.onState("saving", "");
    return new Promise((done) => {
      this.open.push({ message, done });
      if (!this.sending) this.pump();
    });
  }

  async pump() {
    for (let tries = 0; this.open.length; ) {
      const batch = this.open.slice(0, 40);
      this.sending = batch.length;
      try {
        const { status, told } = await this.post({ acts: batch.map((each) => each.message) });
        this.open.splice(0, batch.length);
        tries = 0;
        batch.forEach(({ done }, i) => this.heard(status === 200 && told.answers ? { ...told.answers[i], read: told.read } : null, done));
      } catch {
        this.onState("lost", "Not saved yet: the studio does not answer. Trying again.");
        await new Promise((done) => setTimeout(done, Math.min(2000, 250 * 2 ** Math.min(tries++, 3))));
      }
    }
    this.sending = 0;
  }

  heard(answer, done) {
    if (!answer || answer.problem) {
      this.onState("refused", answer ? `${answer.problem} ${answer.remedy}` : "The studio refused this. Reload the page.");
      done(null);
      return;
    }
    if (!this.open.length) this.onState(answer.saved ? "saved" : "idle", answer.saved || ""); // not before all of it is
    done(answer);
  }

  // The page goes away: what has no answer goes out once more, in a request that outlives the page.
  lastWords() {
    if (this.open.length) this.post({ acts: this.open.map((each) => each.message) }).catch(() => null);
  }

  async post(message) {
    const body = JSON.stringify({ ...this.head, ...message });
    const answer = await fetch(this.address, {
      method: "POST", body, headers: { "Content-Type": "application/json" }, keepalive: body.length < 60000,
    });
    if (answer.status >= 500) throw new Error("again");
    const json = (answer.headers.get("Content-Type") || "").startsWith("application/json");
    return { status: answer.status, told: json ? await answer.json() : {} };
  }
}
