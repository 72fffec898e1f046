// Keep what the user has typed when the page is left before the field has lost the focus.
//
// A field of Streamlit sends its value some milliseconds after it lost the focus. A tap on a link asks for the new page
// earlier, and Streamlit 1.67 then runs the late value on the old page: the link has no effect, and every text field of
// the page is empty. If a busy studio has not begun to run the page with the value, the link replaces this run, and the
// value is lost. A closed tab sends nothing.

const SEND_MS = 200; // Milliseconds that a field may need to send its value; 5 are enough, but not on a busy machine.
const START_MS = 1000; // Longest wait for the studio to run the page with the value.
const STATE = "data-test-script-state";

const TEXT_TYPES = new Set(["text", "number", "password", "email", "url", "tel"]); // not files and check boxes

/** @type {HTMLElement | null} */
let edited = null;
let sentAt = -Infinity;
let hasRun = true;

const runs = new MutationObserver(([{ target }]) => {
  if (/** @type {Element} */ (target).getAttribute(STATE) === "running") hasRun = true;
});

/** Return true if the page has run with the text that was sent last, or needs no run. */
function isHandled() {
  const waited = performance.now() - sentAt;
  return waited > START_MS || (waited > SEND_MS && hasRun);
}

/** @param {EventTarget | null} target */
function isTextField(target) {
  if (target instanceof HTMLTextAreaElement) return true;
  // The search of a list stores nothing.
  return (
    target instanceof HTMLInputElement && TEXT_TYPES.has(target.type) && target.getAttribute("role") !== "combobox"
  );
}

window.addEventListener("input", ({ target }) => {
  if (isTextField(target)) edited = /** @type {HTMLElement} */ (target);
});

window.addEventListener("keydown", ({ target, key, ctrlKey, metaKey }) => {
  const sends = key === "Enter" && (target instanceof HTMLInputElement || ctrlKey || metaKey);
  if (sends && target === edited) edited = null;
});

window.addEventListener("focusout", ({ target }) => {
  if (target !== edited || edited === null) return;
  edited = null;
  sentAt = performance.now();
  hasRun = false;
  const app = document.querySelector('[data-testid="stApp"]');
  if (app) runs.observe(app, { attributeFilter: [STATE] });
});

/** @param {HTMLElement} link */
function follow(link) {
  if (isHandled()) link.click();
  else setTimeout(() => follow(link), 20);
}

window.addEventListener(
  "click",
  (event) => {
    const link = /** @type {Element} */ (event.target).closest?.("a[href]");
    if (!(link instanceof HTMLElement) || isHandled()) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // opens another tab or window
    event.preventDefault();
    event.stopImmediatePropagation();
    follow(link);
  },
  true, // before Streamlit
);

window.addEventListener("beforeunload", (event) => {
  if (!edited?.isConnected) return;
  edited.blur(); // saved, if the user stays
  event.preventDefault();
});
