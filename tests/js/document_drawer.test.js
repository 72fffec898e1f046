import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import "./dom.js";
import drawer, { isWrong } from "../../app/components/document_drawer.js";
import { markShownRow, openDocument } from "../../app/components/open_document.js";
import { MAX_NOTE } from "../../app/components/review_client.js";
import { makeTurn, makeVerdict } from "./factories.js";

const LABELS = [
  { id: "a", name: "Alpha", colour: 1 },
  { id: "b", name: "Beta", colour: 2 },
];
/** @type {Record<string, any>} */
let sent;
/** @type {HTMLElement} */
let root;
/** Report a change of the drawer's size, as the browser does when it is hidden or shown. */
let resize = () => {};

/** @param {string} id */
const makeDocument = (id) => ({
  id,
  note: "",
  fields: { text: `text of <b>${id}</b>` },
  hidden: false,
  annotations: [
    { title: "Gold", by: "gold", run: "", values: { a: true, b: false } },
    { title: "Run", by: "verdict", run: "r1", values: { a: false, b: null } },
  ],
  reference: { a: true, b: false },
  evidence: [],
  debates: [],
  history: [],
  notes: [],
});

beforeEach(() => {
  Object.defineProperty(globalThis, "history", { value: window.history, configurable: true });
  window.HTMLElement.prototype.togglePopover = () => true;
  globalThis.ResizeObserver = class {
    /** @param {() => void} notify */
    constructor(notify) {
      resize = notify;
    }
    observe() {}
    disconnect() {}
  };
  window.HTMLElement.prototype.checkVisibility = function () {
    return this.isConnected && !this.closest("[hidden]"); // jsdom has no layout
  };
  window.HTMLElement.prototype.matches = new Proxy(window.HTMLElement.prototype.matches, {
    apply: (target, self, [selector]) => selector !== ":popover-open" && Reflect.apply(target, self, [selector]),
  });
  globalThis.fetch = async (_, { body }) => {
    sent = JSON.parse(body);
    const answer = { document: makeDocument(sent.document), guideline: { text: "", labels: [] } };
    return { status: 200, headers: new Headers({ "Content-Type": "application/json" }), json: async () => answer };
  };
  document.body.innerHTML = '<div id="component"><div class="moot document-drawer"></div></div>';
  root = document.querySelector(".moot");
  mount("r1");
});

/** @param {string} run */
const mount = (run) => {
  const runs = [{ id: run, live: `${run}@x`, title: "First run", roles: [] }];
  const data = { project: "@x", runs, actor: "ann", labels: LABELS, kind: "multilabel", inline: false };
  drawer({
    data: { ...data, document: null, request: "", actions: [] },
    parentElement: document.querySelector("#component"),
    setTriggerValue: () => {},
  });
};

const settled = () => new Promise((resolve) => setImmediate(resolve));
/** @param {string} key */
const press = (key) => document.body.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true }));
const address = () => new URL(location.href).searchParams.get("document");

test("a click opens a document, arrow keys step through the list, Escape closes, and the address follows", async () => {
  openDocument("d2", { ids: ["d1", "d2", "d3"], title: "Broken" });
  await settled();
  assert.match(root.textContent, /d22 of 3 in Broken/);
  assert.equal(address(), "d2");
  press("ArrowDown");
  await settled();
  assert.match(root.textContent, /3 of 3 in Broken/);
  press("ArrowDown"); // this is the last document
  await settled();
  assert.equal(address(), "d3");
  press("Escape");
  assert.equal(address(), null);
});

test("keys that belong to a focused element of the page do not reach the drawer", async () => {
  openDocument("d1", { ids: ["d1", "d2"], title: "x" });
  await settled();
  for (const [tag, name, value] of [
    ["div", "role", "textbox"],
    ["div", "role", "slider"],
    ["input", "type", "radio"],
    ["input", "type", "text"],
  ]) {
    const field = document.createElement(tag);
    field.setAttribute(name, value);
    document.body.append(field);
    field.dispatchEvent(new window.KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    assert.equal(address(), "d1", value);
  }
});

test("Escape closes an open popover of the page, not the drawer", async () => {
  openDocument("d1", { ids: ["d1"], title: "x" });
  await settled();
  document.body.insertAdjacentHTML("beforeend", '<div data-testid="stPopoverBody"></div>');
  press("Escape");
  assert.equal(address(), "d1");
  document.body.lastElementChild.remove();
  press("Escape");
  assert.equal(address(), null);
});

test("a drawer that Streamlit hides takes no keys and no room", async () => {
  const takesRoom = () => document.documentElement.classList.contains("moot-drawer-open");
  openDocument("d1", { ids: ["d1", "d2"], title: "x" });
  await settled();
  const component = document.querySelector("#component");
  assert.ok(takesRoom());
  component.toggleAttribute("hidden", true);
  resize();
  assert.ok(!takesRoom());
  press("ArrowDown");
  press("Escape");
  assert.equal(address(), "d1");
  component.toggleAttribute("hidden", false);
  resize();
  assert.ok(takesRoom());
  press("ArrowDown");
  assert.equal(address(), "d2");
});

test("documents are shown as text, and annotations that differ from the reference are marked", async () => {
  openDocument("d1", { ids: ["d1"], title: "x" });
  await settled();
  assert.equal(root.querySelector(".document").textContent, "text of <b>d1</b>");
  const cells = [...root.querySelectorAll("tbody td")].map((node) => [node.textContent, node.className]);
  assert.deepEqual(cells.slice(1, 3), [
    ["present", ""],
    ["absent", "wrong bold"],
  ]);
  assert.deepEqual(cells[5], ["unresolved", "unres"]); // without quotes, no column counts them
  assert.equal(root.querySelector("th.verdict").textContent, "Verdict");
});

test("the drawer shows that a document is loading, and not the document before it", async () => {
  openDocument("d1", { ids: ["d1"], title: "x" });
  await settled();
  const answer = globalThis.fetch;
  /** @type {(value?: unknown) => void} */
  let arrive = () => {};
  const arrived = new Promise((resolve) => {
    arrive = resolve;
  });
  globalThis.fetch = async (...request) => {
    await arrived;
    return answer(...request);
  };
  openDocument("d9", { ids: ["d9"], title: "y" });
  await settled();
  assert.equal(root.querySelector("[role=status]").textContent, "Loading the document …");
  assert.equal(root.getAttribute("aria-busy"), "true");
  assert.match(root.textContent, /d91 of 1 in y/);
  assert.ok(!root.textContent.includes("text of"));
  arrive();
  await settled();
  assert.equal(root.querySelector(".document").textContent, "text of <b>d9</b>");
  assert.equal(root.getAttribute("aria-busy"), null);
});

test("the answer to an earlier request does not replace a newer one", async () => {
  const answer = globalThis.fetch;
  /** Functions that pass on the answers, whose text counts the requests. @type {(() => void)[]} */
  const arrivals = [];
  globalThis.fetch = async (...request) => {
    const response = await answer(...request);
    const fields = { text: `read ${arrivals.length + 1}` };
    const content = { ...(await response.json()), document: { ...makeDocument("d1"), fields } };
    await new Promise((resolve) => arrivals.push(() => resolve(undefined)));
    return { ...response, json: async () => content };
  };
  openDocument("d1", { ids: ["d1"], title: "x" });
  await settled();
  mount("r1"); // the page runs: what was asked may be outdated
  await settled();
  for (const arrive of arrivals.toReversed()) {
    arrive();
    await settled();
    assert.equal(root.querySelector(".document").textContent, "read 2");
  }
});

/** Return true if the browser asks before the tab is closed. */
const asksBeforeUnload = () => !window.dispatchEvent(new window.Event("beforeunload", { cancelable: true }));

test("a typed note stays when another tab or document is shown, until it is saved", async () => {
  const click = (/** @type {string} */ name) => {
    const button = [...root.querySelectorAll("button")].find(({ textContent }) => textContent === name);
    button.click();
    return settled();
  };
  const show = (/** @type {string} */ id) => {
    openDocument(id, { ids: ["d1", "d2"], title: "x" });
    return settled();
  };
  const note = () => root.querySelector("textarea");
  const type = (/** @type {string} */ text) => {
    note().value = text;
    note().dispatchEvent(new window.Event("input"));
  };
  await show("d1");
  await click("Notes");
  assert.equal(note().maxLength, MAX_NOTE);
  type("unclear");
  await click("History");
  await click("Notes");
  assert.equal(note().value, "unclear");
  await show("d2");
  assert.equal(note().value, "");
  await show("d1");
  assert.equal(note().value, "unclear");
  await click("Save note"); // the studio refuses it
  mount("r2"); // another run replaces the drawer
  await show("d2");
  await show("d1");
  await click("Notes");
  assert.equal(note().value, "unclear");
  const answer = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    const response = await answer(...request);
    const answers = [{ saved: "14:05", touched: ["d1"] }];
    return { ...response, json: async () => ({ ...(await response.json()), answers }) };
  };
  assert.ok(asksBeforeUnload());
  await click("Save note");
  assert.equal(note().value, ""); // as stored
  assert.ok(!asksBeforeUnload());
});

test("a note keeps the focus when the page runs", async () => {
  openDocument("d1", { ids: ["d1"], title: "x" });
  await settled();
  [...root.querySelectorAll("button")].find(({ textContent }) => textContent.startsWith("Notes")).click();
  await settled();
  const note = root.querySelector("textarea");
  note.focus();
  note.value = "half a";
  note.dispatchEvent(new window.Event("input"));
  mount("r1");
  await settled();
  assert.equal(document.activeElement, note);
  assert.equal(note.value, "half a");
  note.value = "";
  note.dispatchEvent(new window.Event("input"));
});

test("a button that was pressed keeps the focus", async () => {
  openDocument("d1", { ids: ["d1", "d2", "d3"], title: "x" });
  await settled();
  for (const [name, later] of [
    ["Guideline", "Guideline"],
    ["Wide", "Narrow"],
    ["↓", "↓"],
  ]) {
    const button = [...root.querySelectorAll("button")].find(({ textContent }) => textContent === name);
    button.focus();
    button.click();
    await settled();
    assert.equal(document.activeElement.textContent, later);
  }
  assert.equal(address(), "d2");
  openDocument("d9", { ids: ["d1", "d9", "d3"], title: "x" });
  assert.equal(root.querySelector("[role=status]").textContent, "Loading the document …");
  assert.equal(document.activeElement.textContent, "↓");
});

test("after the drawer is closed, the row of its document has its focus", async () => {
  const list = document.body.appendChild(document.createElement("div"));
  list.innerHTML = '<button data-id="d2"></button><button data-id="d1"></button>';
  markShownRow(list, "button");
  const row = /** @type {HTMLElement} */ (list.lastChild);
  openDocument("d1", { ids: ["d1", "d2"], title: "x" });
  await settled();
  const close = /** @type {HTMLElement} */ (root.querySelector(".close"));
  close.focus();
  press("Escape");
  assert.equal(document.activeElement, row);
  openDocument("d1", { ids: ["d1", "d2"], title: "x" });
  await settled();
  row.blur();
  press("Escape");
  assert.equal(document.activeElement, document.body); // the focus was not in the drawer
});

test("arrow keys scroll a focused text that overflows, and another document leaves the focus on its text", async () => {
  const focusText = () => /** @type {HTMLElement} */ (root.querySelector(".drawer-text")).focus();
  const pressHere = () =>
    document.activeElement.dispatchEvent(new window.KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
  openDocument("d1", { ids: ["d1", "d2"], title: "x" });
  await settled();
  focusText();
  Object.defineProperty(document.activeElement, "scrollHeight", { value: 900 });
  pressHere();
  assert.equal(address(), "d1");
  press("ArrowDown");
  await settled();
  assert.equal(address(), "d2");
  assert.equal(document.activeElement, root.querySelector(".drawer-text"));
});

test("a debate that begins again replaces the earlier one", async () => {
  /** @type {any} */
  let socket;
  globalThis.WebSocket = class {
    readyState = 1;
    constructor() {
      socket = this;
    }
    send() {}
    close() {}
  };
  const verdict = makeVerdict({ status: "failed", error: "503" });
  const turns = ["extractor", "critic"].map((role, turn) => makeTurn(turn, role));
  const answer = globalThis.fetch;
  globalThis.fetch = async (...request) => {
    const response = await answer(...request);
    const debated = { ...makeDocument("d1"), debates: [{ run: "r1", events: [...turns, verdict], active: true }] };
    return { ...response, json: async () => ({ ...(await response.json()), document: debated }) };
  };
  openDocument("d1", { ids: ["d1"], title: "x" });
  await settled();
  const shown = () =>
    [...root.querySelectorAll(".turn .role-name, div.verdict:not(.hidden)")].map((node) => node.textContent);
  assert.deepEqual(shown(), ["Extractor", "Critic", "failed503"]);
  const events = [{ kind: "restart", document_id: "d1" }, makeTurn(0, "extractor", { attempt: 1, text: "Anew" })];
  socket.onmessage({ data: JSON.stringify({ type: "batch", events }) });
  assert.deepEqual(shown(), ["Extractor"]);
});

test("a typed and deleted note does not hide a note that is stored later", async () => {
  const answer = globalThis.fetch;
  const openNotes = async () => {
    openDocument("d1", { ids: ["d1"], title: "x" });
    await settled();
    [...root.querySelectorAll("button")].find(({ textContent }) => textContent.startsWith("Notes")).click();
    await settled();
  };
  await openNotes();
  for (const text of ["a", ""]) {
    root.querySelector("textarea").value = text;
    root.querySelector("textarea").dispatchEvent(new window.Event("input"));
  }
  globalThis.fetch = async (...request) => {
    const response = await answer(...request);
    const stored = { ...makeDocument("d1"), notes: [{ who: "ann", note: "stored" }] };
    return { ...response, json: async () => ({ ...(await response.json()), document: stored }) };
  };
  mount("r2"); // another run replaces the drawer
  await openNotes();
  assert.equal(root.querySelector("textarea").value, "stored");
});

test("ratings differ by one point or more, missing values never", () => {
  assert.ok(isWrong(3, 4));
  assert.ok(!isWrong(3.5, 4));
  assert.ok(!isWrong(null, 4));
  assert.ok(isWrong("s", "p"));
});
