// Events between lists of documents and the drawer that shows a document.
//
// Streamlit draws these components of a page separately, so they communicate by events of the page. The review grid is
// in a separate frame.

/**
 * A list of documents: its ids in order, and its title.
 * @typedef {{ ids: string[], title: string }} DocumentListing
 */
/** @typedef {DocumentListing & { id: string | null }} OpenRequest Without an id, the list only announces itself. */

const OPEN = "moot-open-document";
const SHOWN = "moot-document-shown";
const WAIT_MS = 5000;
let shown = /** @type {string | null} */ (null);
let drawers = 0;
/** The last list that was drawn. @type {DocumentListing} */
let announced = { ids: [], title: "" };
/** A request from before the drawer was drawn. @type {{ request: OpenRequest, at: number } | null} */
let waiting = null;

/**
 * Ask the drawer to show a document, with the list that it comes from.
 *
 * @param {string} id
 * @param {DocumentListing} listing
 */
export function openDocument(id, listing) {
  if (drawers) dispatch(OPEN, { id, ...listing });
  else waiting = { request: { id, ...listing }, at: performance.now() };
}

/**
 * Announce the documents of a list that was drawn. A drawer with one of them steps through this list.
 *
 * @param {DocumentListing} listing
 */
export function announceListing(listing) {
  announced = listing;
  dispatch(OPEN, { id: null, ...listing });
}

/** Return the last list that was drawn. */
export function lastListing() {
  return announced;
}

/**
 * Call a function with the requests of lists until the returned function is called.
 *
 * @param {(request: OpenRequest) => void} onOpen
 */
export function onOpenRequest(onOpen) {
  const stop = listen(OPEN, onOpen);
  drawers += 1;
  if (waiting && performance.now() - waiting.at < WAIT_MS) onOpen(waiting.request);
  waiting = null;
  return () => {
    drawers -= 1;
    stop();
  };
}

/**
 * Notify the lists of the document in the drawer; null if the drawer is closed.
 *
 * @param {string | null} id
 */
export function noteShown(id) {
  shown = id;
  dispatch(SHOWN, id);
}

/** @type {WeakMap<HTMLElement, () => void>} */
const marked = new WeakMap();

/**
 * Mark the row of the shown document in a list, now and after each change of the document.
 *
 * @param {HTMLElement} root
 * @param {string} rows The selector of the rows, whose `data-id` is the id of their document.
 */
export function markShownRow(root, rows) {
  const mark = () => {
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(rows))) {
      const isShown = row.dataset.id === shown;
      if (isShown && !row.classList.contains("selected")) row.scrollIntoView({ block: "nearest" });
      row.classList.toggle("selected", isShown);
    }
  };
  marked.get(root)?.();
  marked.set(root, listen(SHOWN, mark));
  mark();
}

/** @param {string} name @param {unknown} detail */
function dispatch(name, detail) {
  window.dispatchEvent(new CustomEvent(name, { detail }));
}

/**
 * @template Detail
 * @param {string} name
 * @param {(detail: Detail) => void} onEvent
 */
function listen(name, onEvent) {
  const listener = (/** @type {Event} */ event) => onEvent(/** @type {CustomEvent<Detail>} */ (event).detail);
  window.addEventListener(name, listener);
  return () => window.removeEventListener(name, listener);
}
