import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { texts } from "./dom.js";
import liveRun from "../../app/components/live_run.js";
import { LABELS, makeEvidence, makeStatus, makeTurn, makeVerdict } from "./factories.js";

/** Functions that wait for the next frame, by number. @type {Map<number, (now: number) => void>} */
const frames = new Map();
let now = 0;
/** @type {{ onopen(): void, onmessage(event: { data: string }): void, sent: any[] }} */
let socket;

class FakeSocket {
  readyState = 1;
  /** @type {any[]} */
  sent = [];

  constructor() {
    socket = /** @type {any} */ (this);
  }
  send(/** @type {string} */ text) {
    this.sent.push(JSON.parse(text));
  }
  close() {}
}

/** @type {Element} */
let root;

beforeEach(({ mock }) => {
  now = 0;
  frames.clear();
  sessionStorage.clear();
  mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  mock.method(performance, "now", () => now);
  let count = 0;
  Object.assign(globalThis, {
    WebSocket: FakeSocket,
    requestAnimationFrame: (/** @type {(now: number) => void} */ draw) => {
      count += 1;
      frames.set(count, draw);
      return count;
    },
    cancelAnimationFrame: (/** @type {number} */ frame) => frames.delete(frame),
    MessageChannel: class {
      port1 = { close: () => {}, onmessage: () => {} };
      port2 = { postMessage: () => this.port1.onmessage() };
    },
  });
  mount();
});

/** Draw the component anew, as after a visit to another page. */
function mount() {
  document.body.innerHTML = '<div id="component"><div class="moot live-run"></div></div>';
  const parentElement = document.querySelector("#component");
  root = parentElement.firstElementChild;
  const roles = ["extractor", "judge"].map((role) => ({ role, colour: role }));
  const data = { run: "r1", labels: LABELS, roles, kind: "multilabel", state: "", budget: null, slots: 4 };
  liveRun(/** @type {any} */ ({ data: { ...data, explained: false, layout: "chain" }, parentElement }));
  socket.onopen();
}

/** Let time pass, a frame after each 40 milliseconds. */
function pass(/** @type {import("node:test").TestContext} */ { mock }, /** @type {number} */ milliseconds) {
  for (const end = now + milliseconds; now < end; ) {
    now += 40;
    mock.timers.tick(40);
    for (const [frame, draw] of [...frames]) {
      frames.delete(frame);
      draw(now);
    }
  }
}

const receive = (/** @type {any} */ message) => socket.onmessage({ data: JSON.stringify(message) });
const tile = (/** @type {object} */ fields = {}) => ({
  kind: "tile",
  document_id: "d1",
  progress: {},
  labels: [],
  role: "extractor",
  tail: "",
  waiting: "",
  wait: 0,
  ...fields,
});
const document1 = { id: "d1", fields: { text: "good food" }, note: "" };
const verdict = makeVerdict({ values: { a: true } });

test("a replay draws the document again when a turn begins or ends, and not with each word", (context) => {
  receive({ type: "snapshot", instance: "i1", events: [makeStatus(), tile({ status: "verdict", values: {} })] });
  pass(context, 400);
  const evidence = [makeEvidence("a", "good", 0)];
  const turn = makeTurn(0, "extractor", { text: "word ".repeat(50), labels: ["a"], evidence });
  receive({ type: "snapshot", instance: "i1", document: document1, events: [turn, verdict] });
  pass(context, 400);
  assert.deepEqual(texts(root, ".document .evidence"), ["good1"]);
  const button = [...root.querySelectorAll("button")].find(({ textContent }) => textContent === "Replay");
  button.click();
  pass(context, 400);
  assert.deepEqual(texts(root, ".document .evidence"), []);
  const drawn = root.querySelector(".document");
  pass(context, 800);
  assert.equal(root.querySelector(".document"), drawn); // the user may be selecting a passage
  pass(context, 1200);
  assert.deepEqual(texts(root, ".document .evidence"), ["good1"]);
});

test("a run that has ended lists its finished debates also when the page is visited again", (context) => {
  const done = makeStatus({ state: "done" });
  receive({ type: "snapshot", instance: "i1", events: [done, tile({ status: "verdict", values: {} })] });
  pass(context, 400);
  const pressed = () => texts(root, ".segmented [aria-pressed=true]");
  assert.match(pressed()[0], /Live/);
  mount();
  receive({ type: "snapshot", instance: "i1", document: document1, events: [done, verdict] });
  pass(context, 400);
  assert.match(pressed()[0], /Finished/);
});

test("a replay shows a reply without spaces bit by bit", (context) => {
  receive({ type: "snapshot", instance: "i1", events: [makeStatus(), tile({ status: "verdict", values: {} })] });
  pass(context, 400);
  const text = "这家餐厅的服务很好😀".repeat(20);
  receive({ type: "snapshot", instance: "i1", document: document1, events: [makeTurn(0, "judge", { text }), verdict] });
  pass(context, 400);
  [...root.querySelectorAll("button")].find(({ textContent }) => textContent === "Replay").click();
  pass(context, 200);
  const [shown] = texts(root, ".reply");
  assert.ok(shown.length > 0 && shown.length < text.length / 2);
  assert.ok(text.startsWith(shown) && shown.isWellFormed());
});

test("a turn about a label tints the evidence of this label from its beginning", (context) => {
  const events = [makeStatus({ in_flight: 1 }), tile()];
  receive({ type: "snapshot", instance: "i1", events });
  pass(context, 400);
  const evidence = [makeEvidence("a", "good", 0), makeEvidence("b", "good", 0)];
  const done = makeTurn(0, "extractor", { text: "Food, Service", labels: ["a", "b"], evidence });
  receive({ type: "snapshot", instance: "i1", document: document1, events: [done] });
  pass(context, 400);
  const tint = () => root.querySelector(".document .evidence").className;
  assert.equal(tint(), "evidence l1 shared");
  receive({ type: "batch", events: [makeTurn(1, "judge", { item: "b", text: "The", done: false })] });
  pass(context, 400);
  assert.equal(tint(), "evidence l2 shared");
});

test("a reply that was being written when the studio ended is not shown after its restart", (context) => {
  const events = [makeStatus({ in_flight: 1 }), tile()];
  receive({ type: "snapshot", instance: "i1", events });
  pass(context, 400);
  const done = makeTurn(0, "extractor", { text: "Food", labels: ["a"] });
  const begun = makeTurn(1, "judge", { text: "The lab", done: false });
  receive({ type: "snapshot", instance: "i1", document: document1, events: [...events, done, begun] });
  pass(context, 400);
  assert.deepEqual(texts(root, ".turn.active .role-name"), ["Judge"]);
  const paused = [makeStatus({ state: "paused", in_flight: 1 }), tile(), done];
  receive({ type: "snapshot", instance: "i2", document: document1, events: paused });
  pass(context, 400);
  assert.deepEqual(texts(root, ".turn .role-name"), ["Extractor"]);
  assert.deepEqual(texts(root, ".document"), ["good food"]);
  assert.deepEqual(socket.sent.at(-1), { type: "watch", run: "r1", focus: "d1", instance: "i2", cursors: {} });
});

test("the debates of a resumed run are shown after one that finished before the pause", (context) => {
  const shown = () => socket.sent.filter(({ type }) => type === "watch").at(-1).focus;
  receive({ type: "snapshot", instance: "i1", events: [makeStatus({ in_flight: 1 }), tile()] });
  receive({ type: "snapshot", instance: "i1", document: document1, events: [verdict] });
  const ended = tile({ status: "verdict", values: {} });
  receive({ type: "events", events: [ended, makeStatus({ state: "paused", in_flight: 0 })] });
  pass(context, 4000);
  assert.equal(shown(), "d1");
  receive({ type: "events", events: [makeStatus({ in_flight: 1 }), tile({ document_id: "d2" })] });
  pass(context, 4000);
  assert.equal(shown(), "d2");
});

test("a page that is loaded again goes on from a debate that has finished meanwhile", (context) => {
  const shown = () => socket.sent.filter(({ type }) => type === "watch").at(-1).focus;
  receive({ type: "snapshot", instance: "i1", events: [makeStatus({ in_flight: 1 }), tile()] });
  pass(context, 400);
  mount();
  assert.equal(shown(), "d1");
  const running = [makeStatus({ in_flight: 1 }), tile({ status: "verdict", values: {} }), tile({ document_id: "d2" })];
  receive({ type: "snapshot", instance: "i1", document: document1, events: [...running, verdict] });
  pass(context, 4000);
  assert.equal(shown(), "d2");
});
