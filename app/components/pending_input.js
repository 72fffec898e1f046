// Keep what the user has typed when the page is left before the field has lost the focus.
//
// A field of Streamlit sends its value some milliseconds after it lost the focus. A tap on a link asks for the new page
// earlier, and Streamlit 1.67 then runs the late value on the old page: the link has no effect, and every text field of
// the page is empty. If a busy studio has not begun to run the page with the value, the link replaces this run, and the
// value is lost. The same holds for "Back" in the browser. A closed tab sends nothing.

const SEND_MS = 200; // Milliseconds that a field may need to send its value; 5 are enough, but not on a busy machine.
const START_MS = 1000; // Longest wait for the studio to run the page with the value.
const STATE = "data-test-script-state";

const TEXT_TYPES = new Set(["text", "number", "password", "email", "url", "tel"]); // not files and check boxes

/** @type {HTMLElement | null} */
let edited = null;
let sentAt = -Infinity;
let hasRun = true;
/** The address that the user has gone back to, while its page waits. */
let awaited = "";

const runs = new MutationObserver(([{ target }]) => {
  if (/** @type {Element} */ (target).getAttribute(STATE) === "running") hasRun = true;
});

/** Return true if the page has run with the text that was sent last, or needs no run. */
function isHandled() {
  const waited = performance.now() - sentAt;
  return waited > START_MS || (waited > SEND_MS && hasRun);
}

/** @param {EventTarget} target @returns {target is HTMLElement} */
function isTextField(target) {
  if (target instanceof HTMLTextAreaElement) return true;
  // The search of a list stores nothing.
  return (
    target instanceof HTMLInputElement && TEXT_TYPES.has(target.type) && target.getAttribute("role") !== "combobox"
  );
}

function handleFocusOut() {
  if (edited === null) return;
  // A component sends its text at once, and not always to the page.
  hasRun = edited.getRootNode() !== document;
  edited = null;
  sentAt = performance.now();
  const app = document.querySelector('[data-testid="stApp"]');
  if (app) runs.observe(app, { attributeFilter: [STATE] });
}

window.addEventListener("input", (event) => {
  const [target] = event.composedPath(); // also inside a component
  if (!isTextField(target)) return;
  edited = target;
  // The window does not see that the focus moves inside a component.
  target.addEventListener("focusout", handleFocusOut, { once: true });
});

window.addEventListener("keydown", (event) => {
  const [target] = event.composedPath();
  const sends = event.key === "Enter" && (target instanceof HTMLInputElement || event.ctrlKey || event.metaKey);
  if (sends && target === edited && !event.isComposing) edited = null;
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

function goBack() {
  if (awaited === "") return;
  if (!isHandled()) {
    setTimeout(goBack, 20);
    return;
  }
  const address = awaited;
  awaited = "";
  // The run of the page that the user leaves has added its address again.
  if (location.href !== address) history.back();
  else window.dispatchEvent(new PopStateEvent("popstate"));
}

window.addEventListener(
  "popstate",
  (event) => {
    awaited = "";
    if (!edited?.isConnected) return;
    event.stopImmediatePropagation();
    awaited = location.href;
    edited.blur();
    goBack();
  },
  true, // before Streamlit
);

window.addEventListener("beforeunload", (event) => {
  if (!edited?.isConnected) return;
  edited.blur(); // saved, if the user stays
  event.preventDefault();
});
