// Interface of components to Streamlit: their root, when to draw, and when the page may be notified.
//
// Streamlit 1.67 runs the notification of a component as one of the old page, even if the user has followed a link in
// the meantime, and the new page is lost. So a notification that is not urgent waits while the page runs or is left.

/**
 * What Streamlit passes to a component whenever the page has run.
 *
 * @template Data
 * @typedef {object} Component
 * @property {Data} data
 * @property {HTMLElement | ShadowRoot} parentElement
 * @property {(name: string, value: unknown) => void} setStateValue
 * @property {(name: string, value: unknown) => void} setTriggerValue
 */

const LEAVING_MS = 3000; // After a click on a link. The new page is there earlier.
const RETRY_MS = 100;

// The review grid runs in a frame of the page.
const page = window.frameElement ? window.parent : window;
let leftAt = -Infinity;

const noteLeaving = () => {
  leftAt = performance.now();
};
const noteClick = (/** @type {MouseEvent} */ { target }) => {
  if (/** @type {Element} */ (target).closest("a[href]")) noteLeaving();
};
page.document.addEventListener("click", noteClick, true);
page.addEventListener("popstate", noteLeaving);
if (page !== window) {
  window.addEventListener("pagehide", () => {
    page.document.removeEventListener("click", noteClick, true);
    page.removeEventListener("popstate", noteLeaving);
  });
}

/** Tell whether the page runs or is being left. */
export function isLeaving() {
  const app = page.document.querySelector('[data-testid="stApp"]');
  const state = app?.getAttribute("data-test-script-state") ?? "";
  return ["running", "rerunRequested"].includes(state) || performance.now() - leftAt < LEAVING_MS;
}

/**
 * Notify the page once it neither runs nor is left. Nothing happens if the node is gone by then.
 *
 * @param {Node} node
 * @param {() => void} notify
 */
export function notifyWhenIdle(node, notify) {
  if (!node.isConnected) return;
  if (isLeaving()) setTimeout(() => notifyWhenIdle(node, notify), RETRY_MS);
  else notify();
}

/**
 * Return the element that a component draws into.
 *
 * @param {{ parentElement: HTMLElement | ShadowRoot }} component
 */
export function rootOf({ parentElement }) {
  return /** @type {HTMLElement} */ (parentElement.querySelector(".moot"));
}

/** @type {WeakMap<HTMLElement, string>} */
const drawnData = new WeakMap();

/**
 * Tell whether a root shows these data already, and note that it does from now on.
 *
 * @param {HTMLElement} root
 * @param {unknown} data
 */
export function isUnchanged(root, data) {
  const text = JSON.stringify(data);
  if (drawnData.get(root) === text) return true;
  drawnData.set(root, text);
  return false;
}

/**
 * Forget which data a root shows, as the user has changed what it shows.
 *
 * @param {HTMLElement} root
 */
export function markChanged(root) {
  drawnData.delete(root);
}

/**
 * What draws into a root, from one run of the page to the next.
 *
 * @template Data
 * @typedef {{ update(component: Component<Data>): void, destroy(): void }} View
 */
/** @type {WeakMap<HTMLElement, { key: string, view: View<any> }>} */
const views = new WeakMap();

/**
 * Update the view of a component. A view is created at first, and another one whenever the key changes.
 *
 * @template Data
 * @param {Component<Data>} component
 * @param {unknown} key
 * @param {(root: HTMLElement) => View<Data>} create
 * @returns {() => void} What Streamlit calls when the component goes.
 */
export function mountView(component, key, create) {
  const root = rootOf(component);
  const text = JSON.stringify(key);
  let mounted = views.get(root);
  if (mounted?.key !== text) {
    mounted?.view.destroy();
    mounted = { key: text, view: create(root) };
    views.set(root, mounted);
  }
  mounted.view.update(component);
  return () => {
    views.get(root)?.view.destroy();
    views.delete(root);
  };
}
