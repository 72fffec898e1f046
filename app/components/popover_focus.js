// Let the Tab key go from the button of an open popover to its first field, and back.
//
// Streamlit 1.67 draws an open popover at the end of the document and leaves the focus on its button, so that all other
// fields of the page would come before those of the popover.

const BUTTON = '[data-testid="stPopoverButton"][aria-expanded="true"]';
const FIELDS = '[data-testid="stPopoverBody"] :is(a[href], button, input, textarea, select, [tabindex])';

window.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.key !== "Tab" || !(target instanceof HTMLElement)) return;
  const fields = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(FIELDS));
  const first = [...fields].find((field) => field.tabIndex >= 0 && !field.matches(":disabled"));
  const next = event.shiftKey
    ? target === first && document.querySelector(BUTTON)
    : target.closest(BUTTON) !== null && first;
  if (!(next instanceof HTMLElement)) return;
  event.preventDefault();
  next.focus();
});
