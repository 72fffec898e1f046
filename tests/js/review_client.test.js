import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";
import "./dom.js";
import { ReviewClient } from "../../app/components/review_client.js";

let requests = [];
let respond;
let states = [];
let client;

beforeEach(() => {
  requests = [];
  states = [];
  respond = ({ actions }) => ({
    answers: actions.map(({ document }) => ({ saved: "14:05", touched: [document] })),
    read: 7,
  });
  globalThis.fetch = async (address, { body }) => {
    const message = JSON.parse(body);
    requests.push({ address, ...message });
    const answer = respond(message);
    if (answer instanceof Error) throw answer;
    const { status = 200, text = "", ...json } = answer;
    const headers = new Headers({ "Content-Type": "application/json" });
    return { status, headers, json: async () => json, text: async () => text };
  };
  client = new ReviewClient({ run: "r1", actor: "me" }, (state, text) => states.push([state, text]));
});

const sent = () => requests.map(({ actions }) => actions.map(({ document }) => document));

test("actions are sent in order, waiting ones in one request", async () => {
  await Promise.all(["d1", "d2", "d3"].map((document) => client.act("submit", { document })));
  assert.deepEqual(sent(), [["d1"], ["d2", "d3"]]);
  assert.deepEqual([requests[0].run, requests[0].actor], ["r1", "me"]);
  const ids = requests.flatMap(({ actions }) => actions.map(({ id }) => id));
  assert.equal(new Set(ids).size, 3);
});

test("the state is saved after all answers", async () => {
  await Promise.all(["d1", "d2"].map((document) => client.act("submit", { document })));
  assert.deepEqual(
    states.filter(([state]) => state === "saved"),
    [["saved", "14:05"]],
  );
  assert.equal(states.at(-1)[0], "saved");
});

test("an answer contains the time of reading", async () => {
  assert.deepEqual(await client.act("set", { document: "d1" }), { saved: "14:05", touched: ["d1"], read: 7 });
});

test("an action without an answer is sent again under the same id", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const answers = [new Error("network"), { status: 503, text: "The disk is full. Free some space." }];
  const normal = respond;
  respond = (message) => answers.shift() ?? normal(message);
  const done = client.act("submit", { document: "d1" });
  for (let round = 0; round < 20 && requests.length < 3; round++) {
    await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(2000);
  }
  assert.equal((await done).saved, "14:05");
  mock.timers.reset();
  assert.equal(new Set(requests.map(({ actions }) => actions[0].id)).size, 1);
  assert.equal(requests.length, 3);
  assert.deepEqual(
    states.filter(([state]) => state === "lost").map(([, text]) => text),
    [
      "Not saved yet. The studio does not answer. Trying again.",
      "Not saved yet. The disk is full. Free some space. Trying again.",
    ],
  );
});

test("a refused action resolves to null, and the others continue", async () => {
  respond = ({ actions }) => ({
    answers: actions.map(({ document }) =>
      document === "d1" ? { problem: "No such label.", remedy: "Reload." } : { saved: "14:05", touched: [] },
    ),
    read: 1,
  });
  const [first, second] = await Promise.all(["d1", "d2"].map((document) => client.act("set", { document })));
  assert.equal(first, null);
  assert.equal(second.saved, "14:05");
  assert.ok(states.some(([state, text]) => state === "refused" && text === "No such label. Reload."));
});

test("a closing page sends unanswered actions again", async () => {
  let answer;
  globalThis.fetch = (_address, { body, keepalive }) => {
    requests.push({ ...JSON.parse(body), keepalive });
    return new Promise((resolve) => {
      answer = resolve;
    });
  };
  client.act("submit", { document: "d1" });
  client.act("submit", { document: "d2" });
  client.flushOnUnload();
  assert.deepEqual(sent(), [["d1"], ["d1", "d2"]]);
  assert.equal(requests[1].keepalive, true);
  assert.ok(answer);
});

test("a request of more than 64 KiB does not ask to continue after the page is closed, which browsers refuse", async () => {
  /** @type {boolean[]} */
  const kept = [];
  globalThis.fetch = async (_address, { keepalive }) => {
    kept.push(keepalive);
    const answer = { answers: [{ saved: "14:05", touched: [] }], read: 1 };
    return { status: 200, headers: new Headers({ "Content-Type": "application/json" }), json: async () => answer };
  };
  await client.act("note", { document: "d1", value: "注".repeat(15_000) });
  await client.act("note", { document: "d1", value: "注".repeat(25_000) });
  assert.deepEqual(kept, [true, false]);
});

test("data are requested", async () => {
  respond = () => ({ document: { id: "d1" } });
  assert.deepEqual(await client.query("document", { document: "d1" }), { document: { id: "d1" } });
  assert.equal(requests[0].query, "document");
});

test("closing the tab is questioned only while an action waits for a studio that does not answer", async () => {
  const isQuestioned = () => {
    const event = new window.Event("beforeunload", { cancelable: true });
    window.dispatchEvent(event);
    return event.defaultPrevented;
  };
  mock.timers.enable({ apis: ["setTimeout"] });
  const answers = [new Error("network")];
  const normal = respond;
  respond = (message) => answers.shift() ?? normal(message);
  const done = client.act("submit", { document: "d1" });
  assert.equal(isQuestioned(), false);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isQuestioned(), true);
  mock.timers.tick(2000);
  await done;
  assert.equal(isQuestioned(), false);
  mock.timers.reset();
});

test("an action is sent again after the studio was started with another token", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const answers = [{ status: 403 }];
  const normal = respond;
  respond = (message) => answers.shift() ?? normal(message);
  const done = client.act("submit", { document: "d1" });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(states.at(-1)[0], "lost");
  mock.timers.tick(2000);
  assert.equal((await done).saved, "14:05");
  mock.timers.reset();
});
