// Interface of components to Streamlit: root elements, updates, and notifications of the page.
//
// Streamlit 1.67 runs the notification of a component on the old page even if the user has followed a link in the
// meantime, and the new page is lost. So notifications that are not urgent wait while the page runs or is left.

/**
 * The argument that Streamlit passes to a component after each run of the page.
 *
 * @template Data
 * @typedef {object} Component
 * @property {Data} data
 * @property {HTMLElement | ShadowRoot} parentElement
 * @property {(name: string, value: unknown) => void} setStateValue
 * @property {(name: string, value: unknown) => void} setTriggerValue
 */

const LEAVING_MS = 3000; // Milliseconds after a click on a link; the new page loads faster.
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

/** Return true if the user has followed a link. */
export function hasLeft() {
  return performance.now() - leftAt < LEAVING_MS;
}

/** Return true if the page runs or is being left. */
export function isLeaving() {
  const app = page.document.querySelector('[data-testid="stApp"]');
  const state = app?.getAttribute("data-test-script-state") ?? "";
  return ["running", "rerunRequested"].includes(state) || hasLeft();
}

/**
 * Notify the page when it neither runs nor is left, unless the node was removed.
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
 * Set query parameters of the address without an entry in the browser's history. Null removes a parameter.
 *
 * @param {Record<string, string | null>} parameters
 */
export function setParameters(parameters) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === null) address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  if (address.href !== location.href) history.replaceState(history.state, "", address);
}

/** @param {{ parentElement: HTMLElement | ShadowRoot }} component */
export function rootOf({ parentElement }) {
  return /** @type {HTMLElement} */ (parentElement.querySelector(".moot"));
}

/** @type {WeakMap<HTMLElement, string>} */
const drawnData = new WeakMap();

/**
 * Return true if a root already shows these data, and store the data as shown.
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
 * Forget the shown data of a root after a change by the user.
 *
 * @param {HTMLElement} root
 */
export function markChanged(root) {
  drawnData.delete(root);
}

/**
 * A view that draws into a root and persists across runs of the page.
 *
 * @template Data
 * @typedef {{ update(component: Component<Data>): void, destroy(): void }} View
 */
/** @type {WeakMap<HTMLElement, { key: string, view: View<any> }>} */
const views = new WeakMap();

/**
 * Update the view of a component. A new view is created at first and whenever the key changes.
 *
 * @template Data
 * @param {Component<Data>} component
 * @param {unknown} key
 * @param {(root: HTMLElement) => View<Data>} create
 * @returns {() => void} A function that Streamlit calls when it has removed the component. If it draws the component
 *   again before the script is loaded, it also calls the function of the earlier call, while the view is in use.
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
    if (root.isConnected) return;
    views.get(root)?.view.destroy();
    views.delete(root);
  };
}
