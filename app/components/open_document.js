// Requests of lists of documents to the drawer that shows a document. Streamlit draws these components of a page
// separately, so they communicate through this module.

/**
 * A list of documents: its ids in order, and its title.
 * @typedef {{ ids: string[], title: string }} DocumentListing
 */
/** @typedef {DocumentListing & { id: string | null }} OpenRequest Without an id, the list only announces itself. */

const WAIT_MS = 5000;
let shown = /** @type {string | null} */ (null);
/** Functions that receive the requests, one for each drawer. @type {Set<(request: OpenRequest) => void>} */
const drawers = new Set();
/** Lists that mark the row of the shown document, with the selector of their rows. @type {Map<HTMLElement, string>} */
const lists = new Map();
/** The last list that was drawn. @type {DocumentListing} */
let announced = { ids: [], title: "" };
/** A request from before the drawer was drawn. @type {{ request: OpenRequest, at: number } | null} */
let waiting = null;

/** @param {OpenRequest} request */
function send(request) {
  for (const onOpen of drawers) onOpen(request);
}

/**
 * Ask the drawer to show a document, with the list that it comes from.
 *
 * @param {string} id
 * @param {DocumentListing} listing
 */
export function openDocument(id, listing) {
  const request = { id, ...listing };
  if (drawers.size) send(request);
  else waiting = { request, at: performance.now() };
}

/**
 * Announce the documents of a list that was drawn. A drawer with one of them steps through this list.
 *
 * @param {DocumentListing} listing
 */
export function announceListing(listing) {
  announced = listing;
  send({ id: null, ...listing });
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
  drawers.add(onOpen);
  if (waiting && performance.now() - waiting.at < WAIT_MS) onOpen(waiting.request);
  waiting = null;
  return () => {
    drawers.delete(onOpen);
  };
}

/**
 * Mark the document in the drawer in all lists; null if the drawer is closed.
 *
 * @param {string | null} id
 */
export function noteShown(id) {
  shown = id;
  markRows();
}

/**
 * Mark the row of the shown document in a list, now and after each change of the document.
 *
 * @param {HTMLElement} root
 * @param {string} rows The selector of the rows, whose `data-id` is the id of their document.
 */
export function markShownRow(root, rows) {
  lists.set(root, rows);
  markRows();
}

/** Mark the row of the shown document in all lists, and forget the lists that the page no longer has. */
function markRows() {
  for (const [root, selector] of lists) {
    if (!root.isConnected) {
      lists.delete(root);
      continue;
    }
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(selector))) {
      const isShown = row.dataset.id === shown;
      if (isShown && !row.classList.contains("selected")) row.scrollIntoView({ block: "nearest" });
      row.classList.toggle("selected", isShown);
    }
  }
}

/**
 * Move the focus to the button of a document in a list, if there is one.
 *
 * @param {string | null} id
 */
export function focusRow(id) {
  const buttons = [...lists.keys()].flatMap((root) => [...root.querySelectorAll("button[data-id]")]);
  const row = /** @type {HTMLElement[]} */ (buttons).find(({ dataset }) => dataset.id === id);
  row?.focus({ preventScroll: true });
}
