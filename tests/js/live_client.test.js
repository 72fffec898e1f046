import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import { LiveClient } from "../../app/components/live_client.js";
import { makeTurn } from "./factories.js";

class FakeSocket {
  readyState = 0;
  sent = [];

  constructor(address) {
    this.address = address;
    sockets.push(this);
  }
  open() {
    this.readyState = 1;
    this.onopen();
  }
  receive(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close(code = 1000) {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.onclose({ code });
  }
}

let sockets = [];
let states = [];
let client;
let refused;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  sockets = [];
  states = [];
  refused = false;
  client = new LiveClient({
    run: "r1",
    onMessage: () => {},
    onConnection: (state) => states.push(state),
    connect: (address) => new FakeSocket(address),
    isRefused: async () => refused,
  });
  client.follow("d1");
  client.connect();
});

const turn = (offset, text, fields) =>
  makeTurn(0, "critic", { offset, text, end: offset + text.length, done: false, ...fields });
const receive = (...events) => sockets.at(-1).receive({ type: "batch", events });
const read = () => client.read().flatMap(({ events }) => events ?? []);

function start() {
  sockets.at(-1).open();
  sockets.at(-1).receive({ type: "snapshot", instance: "b1", events: [turn(0, "one ")] });
}

test("the first message names the run and the debate", () => {
  assert.equal(sockets[0].address, "/moot/live");
  sockets[0].open();
  assert.deepEqual(sockets[0].sent, [{ type: "watch", run: "r1", focus: "d1", instance: "", cursors: {} }]);
});

test("text is passed on without gaps", () => {
  start();
  receive(turn(4, "two "));
  assert.deepEqual(
    read().map(({ text, restart }) => [text, restart]),
    [
      ["one ", true],
      ["two ", false],
    ],
  );
});

test("a gap is requested and not passed on", () => {
  start();
  read();
  receive(turn(9, "late"));
  assert.deepEqual(read(), []);
  assert.deepEqual(sockets[0].sent.at(-1).cursors, {});
  receive(turn(0, "one two late"));
  assert.deepEqual(
    read().map(({ text, restart }) => [text, restart]),
    [["one two late", true]],
  );
});

test("another attempt replaces the text", () => {
  start();
  receive(turn(0, "anew", { attempt: 1 }));
  assert.deepEqual(
    read().map(({ restart }) => restart),
    [true, true],
  );
});

test("a lost connection resumes at the cursors", () => {
  start();
  read();
  sockets[0].close(1006);
  mock.timers.tick(500);
  assert.equal(sockets.length, 2);
  sockets[1].open();
  assert.deepEqual(sockets[1].sent, [
    { type: "watch", run: "r1", focus: "d1", instance: "b1", cursors: { 0: [0, 4] } },
  ]);
  sockets[1].receive({ type: "snapshot", instance: "b1", events: [turn(4, "two")] });
  assert.deepEqual(
    read().map(({ text, restart }) => [text, restart]),
    [["two", false]],
  );
});

test("cursors that the studio refuses are not sent again", () => {
  start();
  read();
  sockets[0].close(1008);
  mock.timers.tick(500);
  sockets[1].open();
  assert.deepEqual(sockets[1].sent.at(-1).cursors, {});
  sockets[1].receive({ type: "snapshot", instance: "b1", events: [turn(0, "one two")] });
  assert.deepEqual(
    read().map(({ text, restart }) => [text, restart]),
    [["one two", true]],
  );
});

test("cursors of another state of the run are not used", () => {
  start();
  read();
  sockets[0].receive({ type: "snapshot", instance: "b2", events: [turn(0, "one two")] });
  assert.deepEqual(
    read().map(({ text, restart }) => [text, restart]),
    [["one two", true]],
  );
  assert.deepEqual([...client.cursors], [[0, [0, 7]]]);
});

test("turns of a debate that was followed earlier are dropped", () => {
  start();
  client.follow("d2");
  assert.deepEqual(read(), []);
  assert.equal(sockets[0].sent.at(-1).focus, "d2");
});

test("the client waits longer after each failure and reports the wait", () => {
  sockets[0].close(1006);
  assert.deepEqual(states, []); // a single failure is not reported
  mock.timers.tick(400);
  sockets[1].close(1006);
  assert.deepEqual(states, ["lost"]);
  mock.timers.tick(400);
  assert.equal(sockets.length, 2);
  mock.timers.tick(400);
  assert.equal(sockets.length, 3);
});

test("a page without access is reported as refused", async () => {
  refused = true;
  sockets[0].close(1006);
  mock.timers.tick(400);
  sockets[1].close(1006);
  await Promise.resolve();
  assert.deepEqual(states, ["lost", "refused"]);
});

test("a closed client does not reconnect", () => {
  sockets[0].open();
  client.close();
  mock.timers.tick(60_000);
  assert.equal(sockets.length, 1);
});

test("a page of finished debates is requested", () => {
  sockets[0].open();
  client.listFinished({ query: "x", status: "failed", offset: 50 });
  assert.deepEqual(sockets[0].sent.at(-1), { type: "finished", query: "x", status: "failed", offset: 50 });
});
