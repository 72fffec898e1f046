import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import focus from "../../app/components/review_focus.js";
import { formRows, roleLegend } from "../../app/components/review_panels.js";
import { createLabels } from "../../app/components/labels.js";
import { LABELS, makeRun } from "./factories.js";

test("labels of a failed debate ask for a decision and do not repeat the error", () => {
  const open = { a: null, b: null, c: null };
  const reasons = { a: "503", b: "503", c: "503" };
  const document = { values: open, verdict: open, unresolved: reasons, roles: {}, gold: {}, edited: [], outdated: [] };
  const remarks = (/** @type {string} */ error, ended = "failed") =>
    formRows({ ...document, error, ended }, makeRun(), 0, () => {}).map(
      (row) => row.querySelector(".remark.unres")?.textContent,
    );
  assert.deepEqual(remarks("503"), Array(3).fill("debate failed"));
  assert.deepEqual(remarks(""), ["503", "unresolved", "unresolved"]);
  assert.deepEqual(remarks("", "open"), Array(3).fill("not debated yet"));
});

test("the shared reason of unresolved labels is at the first one, also if an id is a number", () => {
  const labels = [...LABELS.slice(0, 1), { id: "41732890", name: "View", colour: 4 }];
  const open = { a: null, 41732890: null };
  const unresolved = { a: "no list", 41732890: "no list" };
  const document = {
    values: open,
    verdict: open,
    unresolved,
    roles: {},
    gold: {},
    edited: [],
    outdated: [],
    error: "",
  };
  const rows = formRows(document, { ...makeRun(), labels: createLabels(labels) }, 0, () => {});
  const remarks = rows.map((row) => row.querySelector(".remark.unres")?.textContent);
  assert.deepEqual(remarks, ["no list", "unresolved"]);
  const choice = { ...document, values: { label: null }, verdict: { label: null }, unresolved: { label: "no label" } };
  const part = formRows(choice, { ...makeRun("choice"), labels: createLabels(labels) }, 0, () => {})[0];
  assert.equal(part.textContent, "no label");
});

test("the form names the roles whose letters it shows", () => {
  const document = { values: {}, verdict: {}, unresolved: {}, roles: {}, gold: {}, edited: [], outdated: [] };
  assert.equal(roleLegend(document, makeRun()), null);
  const votes = { critic: { a: true }, judge: { a: false } };
  const legend = roleLegend({ ...document, roles: votes }, makeRun("multilabel", ["critic", "judge"]));
  assert.equal(legend?.textContent, "CCriticJJudgecrossed out: absent");
});

/**
 * Draw the view with a studio that knows the document d1. Returns functions that act on the view.
 *
 * @param {Record<string, unknown> | ((message: Record<string, any>) => Record<string, unknown>)} [differences]
 *   What the studio answers differently.
 * @param {string | null} [requested] The document that the page requests.
 * @param {Record<string, unknown>} [dataOfRun] What the page sends differently.
 */
async function openView(differences = {}, requested = null, dataOfRun = {}) {
  globalThis.ResizeObserver = class {
    observe() {}
    disconnect() {}
  };
  window.HTMLElement.prototype.checkVisibility = function () {
    return this.isConnected; // jsdom has no layout
  };
  const { matches } = window.Element.prototype;
  window.Element.prototype.matches = function (selector) {
    return selector !== ":popover-open" && matches.call(this, selector); // jsdom has no popovers
  };
  const labels = Object.fromEntries(LABELS.map(({ id }) => [id, true]));
  const stored = { blind: false };
  /** @type {Record<string, any>[]} */
  const queries = [];
  /** @type {[string, unknown][]} */
  const triggered = [];
  globalThis.fetch = async (_, { body }) => {
    const message = JSON.parse(body);
    queries.push(message);
    const answered = typeof differences === "function" ? differences(message) : differences;
    for (const action of message.actions ?? []) if (action.action === "settings") stored.blind = action.blind;
    const row = { id: "d1", status: "Pending", skipped: false, reasons: [], text_start: "text", sampling: null };
    const shown = { ...row, note: "", fields: { text: "text" }, values: labels, verdict: stored.blind ? null : labels };
    const more = { edited: [], outdated: [], unresolved: {}, roles: {}, gold: {}, evidence: [], tags: [], comment: "" };
    const answer = {
      answers: (message.actions ?? []).map(() => ({ saved: "14:05", touched: [] })),
      read: 1,
      rows: [row],
      total: 1,
      queue_order: true,
      document: {
        ...shown,
        ...more,
        id: message.document,
        hidden: stored.blind,
        error: "",
        flagged: false,
        ended: answered.ended,
      },
      ...answered,
    };
    const headers = new Headers({ "Content-Type": "application/json" });
    const content = structuredClone(answer);
    return { status: 200, headers, json: async () => content };
  };
  document.body.innerHTML = '<div id="component"><div class="moot review-focus"></div></div>';
  const parentElement = document.querySelector("#component");
  const update = (/** @type {{ even: number, blind: boolean }} */ settings) => {
    const data = { run: "r1", actor: "ann", labels: LABELS, roles: [], kind: "multilabel", scales: {}, filters: {} };
    focus({
      data: { ...data, tags: [], document: requested, height: "100px", settings, ...dataOfRun },
      parentElement,
      setStateValue: () => {},
      setTriggerValue: (/** @type {string} */ name, /** @type {unknown} */ value) => triggered.push([name, value]),
    });
    return settled();
  };
  const blindButton = () => /** @type {HTMLButtonElement} */ (parentElement.querySelector(".queue .panel-head button"));
  await update({ even: 0.5, blind: false });
  return {
    triggered,
    update,
    store: (/** @type {boolean} */ blind) => {
      stored.blind = blind;
    },
    pressBlind: () => {
      blindButton().click();
      return settled();
    },
    isOn: () => blindButton().ariaPressed,
    isBlind: () => parentElement.querySelector(".veil") !== null,
    queueQueries: () => queries.filter(({ query }) => query === "queue").length,
  };
}

test("a view whose project was closed says so, and takes no more keys", async () => {
  await openView();
  /** @type {Record<string, unknown>[]} */
  const sent = [];
  globalThis.fetch = async (_, { body }) => {
    sent.push(JSON.parse(body));
    return { status: 410, headers: new Headers(), text: async () => "This run is not open." };
  };
  window.dispatchEvent(new window.Event("focus"));
  await settled();
  assert.equal(document.querySelector(".review-focus").textContent, "This run is not open. Reload the page.");
  await keyPress("1");
  assert.deepEqual(
    sent.map(({ query }) => query),
    ["document"],
  );
});

test("what must be decided before submitting is not hidden by the labels", async () => {
  const more = { edited: [], outdated: [], unresolved: {}, roles: {}, gold: {}, evidence: [], tags: [], reasons: [] };
  const open = { values: { a: true }, verdict: null, fields: { text: "text" }, error: "", comment: "", ended: "open" };
  await openView({ document: { ...more, ...open, id: "d1", status: "Pending", hidden: false, flagged: false } });
  await keyPress("Enter");
  const problem = document.querySelector(".problem");
  assert.match(problem?.textContent ?? "", /^Decide .* first/);
  assert.equal(problem?.closest(".scroll"), null);
});

test("another part of uniform draws loads the queue again", async () => {
  const { update, queueQueries } = await openView();
  const before = queueQueries();
  await update({ even: 0.5, blind: false });
  assert.equal(queueQueries(), before);
  await update({ even: 0.8, blind: false });
  assert.equal(queueQueries(), before + 1);
});

test("blind review that is turned on in the settings hides the verdict of the open document", async () => {
  const { update, store, isBlind } = await openView();
  assert.ok(!isBlind());
  store(true);
  await update({ even: 0.5, blind: true });
  assert.ok(isBlind());
  store(false);
  await update({ even: 0.5, blind: false });
  assert.ok(!isBlind());
});

test("a reviewer who comes back from another tab sees the document as it is stored now", async () => {
  const { store, isBlind } = await openView();
  const comeBack = () => {
    window.dispatchEvent(new window.Event("focus"));
    return settled();
  };
  const label = document.querySelector(".form-row");
  await comeBack();
  assert.equal(document.querySelector(".form-row"), label); // a button that is being pressed stays
  store(true);
  await comeBack();
  assert.ok(isBlind());
});

/** Wait for the answers of the studio, which take no time, and not for timers. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const presentButton = () => /** @type {HTMLButtonElement} */ (document.querySelector(".form-row .switch button"));
const absentButton = () => /** @type {HTMLButtonElement} */ (presentButton().nextElementSibling);

/**
 * Hold back the studio's answers of one kind, which keep the state at the time of the request.
 *
 * @param {(message: any) => unknown} isHeld
 * @returns {{ sent: any[], release: () => Promise<unknown> }} All requests, and a function that passes on the answers.
 */
function holdAnswers(isHeld) {
  const answer = globalThis.fetch;
  /** @type {any[]} */
  const sent = [];
  /** @type {(value?: unknown) => void} */
  let pass = () => {};
  const passed = new Promise((resolve) => {
    pass = resolve;
  });
  globalThis.fetch = async (address, request) => {
    const message = JSON.parse(request.body);
    sent.push(message);
    const response = await answer(address, request);
    if (isHeld(message)) await passed;
    return response;
  };
  const release = () => {
    pass();
    return settled();
  };
  return { sent, release };
}

/** Let actions wait for the studio, before it performs them. */
function holdActions() {
  const answer = globalThis.fetch;
  /** @type {(value?: unknown) => void} */
  let pass = () => {};
  const passed = new Promise((resolve) => {
    pass = resolve;
  });
  globalThis.fetch = async (address, request) => {
    if (JSON.parse(/** @type {string} */ (request.body)).actions) await passed;
    return answer(address, request);
  };
  const release = () => {
    pass();
    return settled();
  };
  return { release };
}

test("the click that brings a reviewer back to the window is not reverted by the answer to the return", async () => {
  await openView();
  const { release } = holdAnswers(({ query }) => query === "document");
  window.dispatchEvent(new window.Event("focus"));
  absentButton().click();
  await settled();
  await release();
  assert.equal(absentButton().ariaPressed, "true");
});

test("a reviewer who comes back while an action is on its way still sees its result", async () => {
  await openView();
  const { release } = holdAnswers(({ actions }) => actions);
  absentButton().click();
  window.dispatchEvent(new window.Event("focus")); // the studio answers with the value before the action
  await settled();
  assert.equal(absentButton().ariaPressed, "true");
  await release();
});

test("a reviewer who leaves a reopened document and comes back before it is stored sees it open", async () => {
  const row = { skipped: false, reasons: [], text_start: "text", sampling: null };
  await openView({ rows: ["d1", "d2"].map((id) => ({ ...row, id, status: "Submitted" })), total: 2 }, "d1");
  const { document: stored } = await (await fetch("", { body: '{"document": "d1"}' })).json();
  stored.status = "Submitted";
  const answer = globalThis.fetch;
  globalThis.fetch = async (address, request) => {
    const response = await answer(address, request);
    const { actions, document: id } = JSON.parse(/** @type {string} */ (request.body));
    const content = { ...(await response.json()), ...(id && { document: { ...structuredClone(stored), id } }) };
    if (actions?.[0].action === "reopen") stored.status = "Draft";
    return { ...response, json: async () => content };
  };
  window.dispatchEvent(new window.Event("focus"));
  await settled();
  const badge = () => document.querySelector(".form .badge").textContent;
  assert.equal(badge(), "Submitted");
  const { release } = holdActions();
  for (const key of ["d", "ArrowRight", "ArrowLeft"]) await keyPress(key);
  await release();
  assert.equal(document.querySelector(".queue-row.selected .id").textContent, "d1");
  assert.equal(badge(), "Draft");
});

test("a note that is written while the shown document is loaded again stays", async () => {
  const { store } = await openView();
  store(true); // in another tab
  const { release } = holdAnswers(({ query }) => query === "document");
  window.dispatchEvent(new window.Event("focus"));
  const note = document.querySelector("textarea");
  note.focus();
  note.value = "unclear";
  note.blur();
  await settled();
  await release();
  assert.equal(document.querySelector("textarea").value, "unclear");
});

test("a note that still has the focus is sent when the page is closed", async () => {
  await openView();
  const { sent } = holdAnswers(() => false);
  const note = document.querySelector("textarea");
  note.focus();
  note.value = "unclear";
  window.dispatchEvent(new window.Event("pagehide"));
  const notes = sent.flatMap(({ actions = [] }) => actions).filter(({ action }) => action === "note");
  assert.equal(notes.at(-1)?.value, "unclear");
});

test("a click on the form of a document that another one replaces does not change the other one", async () => {
  const row = { status: "Pending", skipped: false, reasons: [], text_start: "text", sampling: null };
  await openView({ rows: ["d1", "d2"].map((id) => ({ ...row, id })), total: 2 });
  const { sent, release } = holdAnswers(({ query }) => query === "document");
  window.dispatchEvent(new window.Event("focus"));
  window.dispatchEvent(new window.KeyboardEvent("keydown", { key: "ArrowRight" }));
  absentButton().click();
  await release();
  assert.equal(document.querySelector(".queue-row.selected .id").textContent, "d2");
  assert.deepEqual(
    sent.filter(({ actions }) => actions),
    [],
  );
});

test("a run of the page that read the settings before the reviewer changed them does not revert the change", async () => {
  const { update, pressBlind, isBlind, isOn } = await openView();
  await pressBlind();
  assert.ok(isBlind());
  await update({ even: 0.5, blind: false });
  assert.equal(isOn(), "true");
  await update({ even: 0.5, blind: true });
  assert.ok(isBlind());
});

test("the button of a flag keeps its name, so that the buttons beside it do not move", async () => {
  await openView();
  const flag = () => [...document.querySelectorAll(".more button")].find((button) => button.textContent === "FlagF");
  assert.equal(flag()?.ariaPressed, "false");
  flag()?.click();
  assert.equal(flag()?.ariaPressed, "true");
});

test("the view takes the focus from the select box of the run, but not while its list is open", async () => {
  const box = document.createElement("input");
  box.setAttribute("role", "combobox");
  document.documentElement.append(box); // the page keeps it
  for (const isOpen of [true, false]) {
    box.setAttribute("aria-expanded", String(isOpen));
    box.focus();
    await openView();
    assert.equal(document.activeElement === box, isOpen);
  }
  box.remove();
});

test("a key for the document takes the focus from a button elsewhere", async () => {
  await openView();
  const outside = document.createElement("button");
  document.body.append(outside);
  outside.focus();
  const press = (/** @type {string} */ key) =>
    outside.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true, composed: true }));
  const focused = () => document.activeElement?.className;
  press("Tab");
  assert.equal(focused(), "");
  press("1");
  assert.match(focused() ?? "", /review-focus/);
});

test("an empty queue beside a decided document says so", async () => {
  const row = { id: "d1", status: "Draft", skipped: false, reasons: [], text_start: "text", sampling: null };
  /** @type {object[]} */
  const rows = [];
  const { update } = await openView(({ actions }) => {
    if (actions) rows.push(row);
    return { rows, total: rows.length, documents: 3, answers: [{ saved: "14:05", touched: ["d1"] }] };
  }, "d1");
  assert.equal(document.querySelector(".queue .empty b").textContent, "All 3 documents are decided");
  assert.ok(document.querySelector(".form-row"));
  window.dispatchEvent(new window.KeyboardEvent("keydown", { key: "u" })); // undo: the document waits again
  await update({ even: 0.5, blind: false });
  assert.equal(document.querySelector(".queue .badge").textContent, "1 waiting");
  assert.equal(document.querySelectorAll(".queue-row").length, 1);
});

const keyPress = (/** @type {string} */ key) => {
  window.dispatchEvent(new window.KeyboardEvent("keydown", { key }));
  return settled();
};

test("a blind review has no count of documents with a reason", async () => {
  const row = { id: "d1", skipped: false, reasons: [], text_start: "text", sampling: null, status: "Pending" };
  await openView(() => ({ rows: [row], total: 1, documents: 1, decided: 0, urgent: null, seconds: 30 }));
  assert.equal(document.querySelector(".keys .muted").textContent, "1 waiting");
});

test("a discarded and a reopened document change the number of decided ones", async () => {
  const row = { skipped: false, reasons: [], text_start: "text", sampling: null, status: "Pending" };
  /** @type {string[]} */
  const stored = [];
  await openView(({ actions = [] }) => {
    stored.push(...actions.map(({ action }) => action));
    const decided =
      stored.filter((name) => name === "discard").length - stored.filter((name) => name === "reopen").length;
    const rows = ["d1", "d2"].map((id) => ({ ...row, id }));
    return { rows, total: 2, documents: 2, decided, urgent: 0, seconds: null };
  });
  const waiting = () => [".queue .badge", ".keys .muted"].map((part) => document.querySelector(part).textContent);
  assert.deepEqual(waiting(), ["2 waiting", "2 waiting, 0 with a reason"]);
  await keyPress("d");
  await settled();
  assert.deepEqual(waiting(), ["1 waiting", "1 waiting, 0 with a reason"]);
  await keyPress("ArrowLeft");
  await keyPress("d");
  await settled();
  assert.deepEqual(waiting(), ["2 waiting", "2 waiting, 0 with a reason"]);
});

test("a document that was opened by its id no longer waits once it is submitted", async () => {
  await openView({ total: 2 }, "d2");
  const listed = () => [...document.querySelectorAll(".queue-row .id")].map((id) => id.textContent);
  assert.deepEqual([document.querySelector(".queue .badge").textContent, listed()], ["2 waiting", ["d1"]]);
  await keyPress("Enter");
  assert.deepEqual([document.querySelector(".queue .badge").textContent, listed()], ["1 waiting", ["d2", "d1"]]);
});

test("a settled document that was opened by its id waits once it is reopened", async () => {
  const values = Object.fromEntries(LABELS.map(({ id }) => [id, true]));
  const shown = { status: "Submitted", skipped: false, reasons: [], note: "", fields: { text: "text" }, values };
  const more = { edited: [], outdated: [], unresolved: {}, roles: {}, gold: {}, evidence: [], tags: [], verdict: {} };
  for (const total of [1, 60]) {
    await openView({ total, document: { ...shown, ...more, id: "d2" } }, "d2");
    const waiting = () => document.querySelector(".queue .badge").textContent;
    assert.equal(waiting(), `${total} waiting`);
    await keyPress("d");
    assert.equal(waiting(), `${total + 1} waiting`);
    await keyPress("Enter");
    assert.equal(waiting(), `${total} waiting`);
  }
});

test("the line of keys and the button name the same effect of the Enter key", async () => {
  const effects = () => [
    [...document.querySelectorAll(".keys > span")].find((part) => part.textContent.startsWith("Enter")).textContent,
    document.querySelector(".actions button.primary").textContent,
  ];
  const { update, store } = await openView();
  assert.deepEqual(effects(), ["Entersubmit", "Submit and continueEnter"]);
  store(true);
  await update({ even: 0.5, blind: true });
  assert.deepEqual(effects(), ["Entershow verdict", "Show verdictEnter"]);
  store(false); // the verdict was shown, and blind review is still on
  await keyPress("Enter");
  await settled();
  assert.deepEqual(effects(), ["Entersubmit", "Submit and continueEnter"]);
});

test("a digit after the key E sets an error type, otherwise a label", async () => {
  await openView({}, null, { tags: ["ambiguous text", "edge case"] });
  const tags = () => [...document.querySelectorAll(".pill")].map(({ ariaPressed }) => ariaPressed);
  const offered = () => document.querySelector(".picks-tag .form") !== null;
  await keyPress("e");
  assert.ok(offered());
  await keyPress("2");
  assert.deepEqual([offered(), tags(), presentButton().ariaPressed], [false, ["false", "true"], "true"]);
  for (const [cancel, present] of [
    ["Escape", "false"],
    ["e", "true"],
  ]) {
    await keyPress("e");
    await keyPress(cancel);
    await keyPress("1");
    assert.deepEqual([offered(), tags(), presentButton().ariaPressed], [false, ["false", "true"], present]);
  }
});

test("the keys work on a keyboard of another script", async () => {
  await openView({}, null, { tags: ["ambiguous text"] });
  const press = (/** @type {object} */ key) => {
    window.dispatchEvent(new window.KeyboardEvent("keydown", key));
    return settled();
  };
  await press({ key: "у", code: "KeyE" }); // Russian
  assert.ok(document.querySelector(".picks-tag"));
  await press({ key: "۱", code: "Digit1" }); // Persian
  assert.equal(document.querySelector(".pill").ariaPressed, "true");
  await press({ key: "۱", code: "Digit1" });
  assert.equal(presentButton().ariaPressed, "false");
  await press({ key: "z", code: "KeyY" }); // German: the letter counts, not its place
  assert.notEqual(document.querySelector(".save-state").textContent, "Nothing to redo");
  await press({ key: "Я", code: "KeyZ", ctrlKey: true, shiftKey: true });
  assert.equal(document.querySelector(".save-state").textContent, "Nothing to redo");
});

test("undo of an action in another run keeps the shown document and names what was undone", async () => {
  const answers = [{ saved: "Undone: document d9 of Run r2", touched: ["d9"] }];
  await openView({ answers });
  const answer = globalThis.fetch;
  globalThis.fetch = async (address, request) => {
    const response = await answer(address, request);
    const isOther = JSON.parse(/** @type {string} */ (request.body)).document === "d9";
    return isOther ? { ...response, json: async () => ({ document: null }) } : response;
  };
  await keyPress("u");
  assert.equal(document.querySelector(".middle .panel-head .mono").textContent, "d1");
  const message = /** @type {HTMLElement} */ (document.querySelector(".save-state"));
  assert.deepEqual([message.textContent, message.title], Array(2).fill("✓ Undone: document d9 of Run r2"));
});

test("the queue counts all documents that wait again after undo", async () => {
  const row = { status: "Pending", skipped: false, reasons: [], text_start: "text", sampling: null };
  const waiting = ["d1", "d2"];
  const submitted = Array.from({ length: 40 }, (_, place) => `s${place}`); // at once, in the grid
  await openView(({ actions = [] }) => {
    if (actions.length) waiting.unshift(...submitted.splice(0));
    const answers = [{ saved: "Undone", touched: waiting.slice(0, -2) }];
    return { rows: waiting.map((id) => ({ ...row, id })), total: waiting.length, answers };
  });
  const count = () => document.querySelector(".queue .badge").textContent;
  assert.equal(count(), "2 waiting");
  await keyPress("u");
  assert.equal(count(), "42 waiting");
  assert.equal(document.querySelectorAll(".queue-row").length, 42);
  assert.equal(document.querySelector(".queue-row.selected .id").textContent, "s0");
});

test("the left arrow key at the end of the queue shows its last document", async () => {
  const row = { status: "Pending", skipped: false, reasons: [], text_start: "text", sampling: null };
  const rows = ["d1", "d2"].map((id) => ({ ...row, id }));
  await openView({ rows, total: 2, answers: [{ saved: "14:05", touched: [] }] });
  for (const key of ["Enter", "f", "Enter"]) await keyPress(key);
  assert.match(document.querySelector(".middle .empty p").textContent, /left arrow key/);
  await keyPress("ArrowLeft");
  assert.equal(document.querySelector(".queue-row.selected .id").textContent, "d2");
});

test("with more labels than keys, the first present label is focused", async () => {
  const absent = (/** @type {number} */ count) =>
    Array.from({ length: count }, (_, index) => ({ ...LABELS[0], id: `x${index}` }));
  const focused = () => [...document.querySelectorAll(".form-row")].findIndex((row) => row.matches(".focused"));
  await openView({}, null, { labels: [...absent(12), ...LABELS] });
  assert.equal(focused(), 12);
  await openView({}, null, { labels: [...absent(2), ...LABELS] });
  assert.equal(focused(), 0);
});

test("the hint of the digits names the scale of the focused dimension", async () => {
  const ends = [5, 3, 7];
  const scales = Object.fromEntries(LABELS.map(({ id }, index) => [id, { min: 1, max: ends[index] }]));
  await openView({}, null, { kind: "rating", scales });
  const hint = () => document.querySelector(".keys").children[2].textContent;
  assert.equal(hint(), "1to 5rate");
  await keyPress("ArrowDown");
  assert.equal(hint(), "1to 3rate");
  await keyPress("2"); // goes on to the next dimension
  assert.equal(hint(), "1to 7rate");
});

/** Open a rating of three dimensions with this scale; return the ratings that the studio receives. */
async function openRating(/** @type {{ min: number, max: number }} */ scale) {
  await openView({}, null, { kind: "rating", scales: Object.fromEntries(LABELS.map(({ id }) => [id, scale])) });
  const { sent } = holdAnswers(() => false);
  return () =>
    sent.flatMap(({ actions = [] }) => actions).flatMap(({ item, value }) => (item ? [`${item} ${value}`] : []));
}

test("digits give a rating of several digits, as far as the scale allows another one", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  for (const [min, max, keys, expected] of /** @type {[number, number, string[], string[]][]} */ ([
    [0, 100, ["7", "5", "6", "0"], ["a 75", "b 60"]],
    [0, 100, ["1", "0", "0", "0"], ["a 100", "b 0"]],
    [1, 10, ["1", "0", "1", "5"], ["a 10", "b 1", "c 5"]],
    [5, 12, ["1", "2", "4", "9"], ["a 12", "b 9"]],
    [0, 100, ["7", "Enter"], ["a 7"]],
    [0, 100, ["7", "ArrowDown", "6", "ArrowDown"], ["a 7", "b 6"]],
  ])) {
    const rated = await openRating({ min, max });
    for (const key of keys) await keyPress(key);
    assert.deepEqual(rated(), expected);
  }
  const rated = await openRating({ min: 0, max: 100 });
  await keyPress("7");
  assert.equal(document.querySelector(".save-state").textContent, "Rating 7 …");
  context.mock.timers.tick(700);
  await settled();
  await keyPress("6");
  window.dispatchEvent(new window.Event("pagehide"));
  await settled();
  assert.deepEqual([...new Set(rated())], ["a 7", "b 6"]);
});

test("a number field keeps the focus when its rating changes", async () => {
  const drawn = () => new Promise((resolve) => setTimeout(resolve, 5)); // after the timers without a delay
  const rated = await openRating({ min: 0, max: 100 });
  const fields = () => /** @type {HTMLInputElement[]} */ ([...document.querySelectorAll(".form-row input")]);
  const [first, second] = fields();
  const type = async (/** @type {HTMLInputElement} */ field, /** @type {string} */ value) => {
    field.focus();
    field.value = value;
    field.dispatchEvent(new window.Event("change"));
    await drawn();
  };
  await type(first, "31");
  await type(first, "32");
  assert.equal(document.activeElement, first);
  await type(second, "60");
  assert.deepEqual(rated(), ["a 31", "a 32", "b 60"]);
  second.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await drawn();
  assert.match(document.activeElement.className, /review-focus/);
  assert.deepEqual(
    fields().map(({ value }) => value),
    ["32", "60", ""],
  );
});

test("the list of keys has those that change labels of the kind, and each key has its action", async () => {
  window.HTMLElement.prototype.showPopover = () => {};
  const scales = Object.fromEntries(LABELS.map(({ id }) => [id, { min: 1, max: 5 }]));
  for (const [kind, expected] of /** @type {const} */ ([
    ["multilabel", ["1–3", "Space", "0"]],
    ["choice", ["1–3", "Space"]],
    ["rating", ["1–5", "−+"]],
  ])) {
    await openView({ events: [], entries: [], labels: [], text: "" }, null, { kind, scales });
    await keyPress("?");
    const hints = [...document.querySelectorAll(".help dt")].map(({ textContent }) => textContent);
    assert.deepEqual(hints.slice(2, hints.indexOf("Enter")), expected);
  }
  const shows = () => [...document.querySelectorAll(".side-part:not(.hidden) h2")].map((node) => node.textContent);
  for (const key of ["t", "G", "h"]) await keyPress(key);
  assert.deepEqual(shows(), ["Transcript", "Guideline", "History"]);
});

test("the history shows what the reviewer does while it is open", async () => {
  const entries = [];
  await openView(({ actions = [] }) => {
    for (const { item } of actions)
      entries.push({ at: 0, who: "ann", item, before: "present", after: "absent", version: 1, seconds: 1 });
    return { entries, total: entries.length };
  });
  const shown = () => document.querySelector(".history, .side-part:not(.hidden) .guideline")?.textContent;
  await keyPress("h");
  assert.equal(shown(), "No changes yet.");
  await keyPress("1");
  assert.match(shown(), /ann a present → absent/);
  assert.equal(document.querySelector(".side-part:not(.hidden) .muted").textContent, "1 event");
});

test("an empty queue names its reason and offers the filter that helps", async () => {
  const none = { rows: [], total: 0, document: null };
  for (const [answered, title, filter] of [
    [{ documents: 12, queue_order: true }, "All 12 documents are decided", "decided"],
    [{ documents: 12, queue_order: false }, "No documents to review", "none"],
  ]) {
    const { triggered } = await openView({ ...none, .../** @type {object} */ (answered) });
    const empty = document.querySelector(".middle .empty");
    assert.equal(empty.querySelector("b").textContent, title);
    assert.match(empty.textContent, /No documents wait for review|No document matches the filters/);
    /** @type {HTMLButtonElement} */ (empty.querySelector("button")).click();
    assert.deepEqual(triggered, [["filter", filter]]);
  }
});

test("a list that lacks documents of the filters does not say that all are decided", async () => {
  const row = { id: "d1", status: "Submitted", skipped: false, reasons: [], text_start: "text", sampling: null };
  await openView({ rows: [row], total: 20_000, queue_order: false });
  await keyPress("Enter");
  const shown = [...document.querySelectorAll(".middle .empty > :is(b, p)")].map(({ textContent }) => textContent);
  assert.deepEqual(shown, [
    "All listed documents are decided",
    "The queue lists 1 of the 20,000 documents that match the filters. Narrow the filters to review others.",
  ]);
});

test("a document that waits for its debate says so", async () => {
  await openView({ ended: "verdict" });
  assert.equal(document.querySelector(".veil"), null);
  await openView({ ended: "open" });
  assert.match(document.querySelector(".veil").textContent, /Not debated yet/);
});

test("keys without a pause change and submit each document, also those that are loaded later", async () => {
  const waiting = Array.from({ length: 12 }, (_, n) => `d${n}`);
  const row = { status: "Pending", skipped: false, reasons: [], text_start: "text", sampling: null };
  /** @type {string[]} */
  const stored = [];
  await openView(({ actions = [] }) => {
    for (const { action, item, document } of actions) {
      stored.push(action === "set" ? `${item} of ${document}` : document);
      if (action === "submit") waiting.splice(waiting.indexOf(document), 1);
    }
    return { rows: waiting.slice(0, 3).map((id) => ({ ...row, id })), total: waiting.length };
  });
  const expected = [];
  for (let n = 0; n < 10; n += 1) {
    for (const key of [String((n % 3) + 1), "Enter"])
      window.dispatchEvent(new window.KeyboardEvent("keydown", { key }));
    expected.push(`${"abc"[n % 3]} of d${n}`, `d${n}`);
  }
  for (let wait = 0; wait < 400 && stored.length < expected.length; wait += 1) await settled();
  assert.deepEqual(stored, expected);
});

/** Open a queue of four documents, hidden until the verdict is shown if it is blind; return what the studio receives. */
async function openFour(/** @type {boolean} */ isBlind) {
  const row = { status: "Pending", skipped: false, reasons: [], text_start: "text", sampling: null };
  /** @type {string[]} */
  const stored = [];
  const { update, store } = await openView(({ actions = [] }) => {
    stored.push(...actions.map(({ action, document }) => `${action} ${document}`));
    return { rows: ["d1", "d2", "d3", "d4"].map((id) => ({ ...row, id })), total: 4 };
  });
  store(isBlind);
  await update({ even: 0.5, blind: isBlind });
  return { stored, store };
}

const clickOn = (/** @type {string} */ text) => {
  const buttons = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll(".actions button")]);
  buttons.find(({ textContent }) => textContent.startsWith(text))?.click();
};

for (const [name, text] of [
  ["submit", "Submit"],
  ["discard", "Discard"],
  ["skip", "Skip"],
]) {
  test(`a second click does not ${name} the document that the first one has shown`, async (context) => {
    let now = 1000;
    context.mock.method(performance, "now", () => now);
    const { stored } = await openFour(false);
    clickOn(text); // both before the next document is shown
    clickOn(text);
    await settled();
    now += 499;
    clickOn(text);
    await settled();
    assert.deepEqual(stored, [`${name} d1`]);
    now += 1;
    clickOn(text);
    await settled();
    assert.deepEqual(stored, [`${name} d1`, `${name} d2`]);
  });
}

test("a second click does not discard the document that the first one has reopened", async (context) => {
  let now = 1000;
  context.mock.method(performance, "now", () => now);
  const { stored } = await openFour(false);
  clickOn("Discard");
  await settled();
  await keyPress("ArrowLeft");
  clickOn("Reopen");
  await settled();
  clickOn("Discard");
  await settled();
  assert.deepEqual(stored, ["discard d1", "reopen d1"]);
  now += 500;
  clickOn("Discard");
  await settled();
  assert.deepEqual(stored, ["discard d1", "reopen d1", "discard d1"]);
});

test("a document is submitted at once after an action on it, or if the reviewer chose it", async () => {
  const { stored } = await openFour(false);
  for (const key of ["Enter", "Enter", "f", "Enter", "Enter", "ArrowRight", "Enter"]) await keyPress(key);
  assert.deepEqual(stored, ["submit d1", "flag d2", "submit d2", "submit d4"]);
});

test("a double click shows a verdict and does not submit it", async () => {
  const { stored, store } = await openFour(true);
  store(false); // what the studio answers once the verdict was shown
  clickOn("Show verdict");
  clickOn("Show verdict");
  await settled();
  clickOn("Submit");
  await settled();
  assert.deepEqual(stored, ["reveal d1"]);
});
