// A word to the page that comes late (which row is in focus, that something was saved) waits while the page runs or is
// being left. Streamlit (1.67) would run it as a word of the old page after the new one was drawn, and wipe that.

const LEAVING = 3000; // ms after a link was followed for which the page counts as being left; the new one is there earlier
const PAGE = window.frameElement ? window.parent : window;

let left = -Infinity;
const nowLeaving = () => { left = performance.now(); };

PAGE.document.addEventListener("click", (event) => { if (event.target.closest("a[href]")) nowLeaving(); }, true);
PAGE.addEventListener("popstate", nowLeaving);

export function leaving() {
  const app = PAGE.document.querySelector('[data-testid="stApp"]');
  const runs = app && ["running", "rerunRequested"].includes(app.dataset.testScriptState);
  return runs || performance.now() - left < LEAVING;
}

// Say it (once) as soon as the page stays, unless the place it comes from has gone by then.
export function whenStaying(place, word) {
  if (!place.isConnected) return;
  if (leaving()) setTimeout(() => whenStaying(place, word), 100);
  else word();
}
