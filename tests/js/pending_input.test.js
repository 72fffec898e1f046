import assert from "node:assert/strict";
import { test } from "node:test";
import "./dom.js";
import "../../app/components/pending_input.js";

/** Return true if the browser asks before the tab is closed after an input in this field. */
function asksAfter(/** @type {string} */ field, /** @type {string[]} */ ...later) {
  document.body.innerHTML = field;
  return asksAfterInput(/** @type {HTMLElement} */ (document.body.firstElementChild), ...later);
}

function asksAfterInput(/** @type {HTMLElement} */ element, /** @type {string[]} */ ...later) {
  element.dispatchEvent(new window.Event("input", { bubbles: true, composed: true }));
  for (const name of later) element.dispatchEvent(new window.Event(name, { bubbles: true }));
  const event = new window.Event("beforeunload", { cancelable: true });
  window.dispatchEvent(event);
  element.dispatchEvent(new window.Event("focusout", { bubbles: true }));
  return event.defaultPrevented;
}

test("the browser asks before typed text is lost", () => {
  assert.ok(asksAfter("<textarea></textarea>"));
  assert.ok(asksAfter("<input>"));
  assert.ok(asksAfter('<input type="number">'));
});

test("the browser does not ask after other inputs", () => {
  for (const type of ["checkbox", "radio", "file"]) assert.ok(!asksAfter(`<input type="${type}">`), type);
  assert.ok(!asksAfter('<input role="combobox">'));
});

test("the browser does not ask after the field has sent its text", () => {
  assert.ok(!asksAfter("<textarea></textarea>", "focusout"));
});

test("the browser asks before text that was typed in a component is lost", () => {
  const shadow = document.body.appendChild(document.createElement("div")).attachShadow({ mode: "open" });
  shadow.innerHTML = "<textarea></textarea>";
  const field = /** @type {HTMLElement} */ (shadow.firstElementChild);
  assert.ok(asksAfterInput(field));
  assert.ok(!asksAfterInput(field, "focusout")); // the focus moves inside the component
});

/**
 * Simulate the clock, and return a function that waits until a condition holds, at most five seconds. It returns the
 * milliseconds since the start.
 */
function simulateClock(/** @type {import("node:test").TestContext} */ { mock }) {
  let waited = 0;
  mock.timers.enable({ apis: ["setTimeout"] });
  mock.method(performance, "now", () => waited);
  return async (/** @type {() => boolean} */ isReached) => {
    while (!isReached() && waited < 5000) {
      waited += 10;
      mock.timers.tick(10);
      await Promise.resolve(); // The observer sees the state.
    }
    return waited;
  };
}

/**
 * Type, leave the field and tap a link, while the page runs after ``run`` milliseconds. Return the milliseconds until the
 * link opens, and whether the page runs then. The clock is simulated.
 */
async function opens(/** @type {import("node:test").TestContext} */ context, /** @type {number} */ run) {
  const waitFor = simulateClock(context);
  document.body.innerHTML =
    '<div data-testid="stApp" data-test-script-state="notRunning"><textarea></textarea><a href="#data">Data</a></div>';
  const app = /** @type {HTMLElement} */ (document.body.firstElementChild);
  const [field, link] = /** @type {HTMLElement[]} */ ([...app.children]);
  for (const name of ["input", "focusout"]) field.dispatchEvent(new window.Event(name, { bubbles: true }));
  setTimeout(() => app.setAttribute("data-test-script-state", "running"), run);
  let isOpen = false;
  link.addEventListener("click", () => {
    isOpen = true;
  });
  link.click();
  const waited = await waitFor(() => isOpen);
  return { waited, isOpen, state: app.getAttribute("data-test-script-state") };
}

test("a link waits until the field has sent its text", async (context) => {
  const { waited, isOpen } = await opens(context, 0);
  assert.ok(isOpen && waited > 200 && waited <= 220, `${waited}`);
});

test("a link opens when the page runs with the text that was typed before", async (context) => {
  const { waited, state } = await opens(context, 400);
  assert.equal(state, "running");
  assert.ok(waited <= 430, `${waited}`);
});

test("a link opens after a second if the page does not run", async (context) => {
  const { waited, isOpen, state } = await opens(context, 60_000);
  assert.ok(isOpen && waited > 1000 && waited <= 1030, `${waited}`);
  assert.equal(state, "notRunning");
});

test("Back waits until the page runs with the text that is being typed", async (context) => {
  const waitFor = simulateClock(context);
  document.body.innerHTML = '<div data-testid="stApp" data-test-script-state="notRunning"><textarea></textarea></div>';
  const app = /** @type {HTMLElement} */ (document.body.firstElementChild);
  const field = /** @type {HTMLElement} */ (app.firstElementChild);
  field.focus();
  field.dispatchEvent(new window.Event("input", { bubbles: true }));
  /** @type {string | null} */
  let stateLeft = null;
  const noteLeaving = () => {
    stateLeft = app.getAttribute("data-test-script-state");
  };
  window.addEventListener("popstate", noteLeaving, { once: true });
  window.dispatchEvent(new window.PopStateEvent("popstate"));
  assert.equal(document.activeElement, document.body);
  setTimeout(() => app.setAttribute("data-test-script-state", "running"), 400);
  await waitFor(() => stateLeft !== null);
  assert.equal(stateLeft, "running");
});
