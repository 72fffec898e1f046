// Tab moves from the button of an open popover into it, and from its ends back to the button.
//
// Streamlit 1.67 draws an open popover at the end of the page: Tab would move to the page behind it.

const STOPS = "a[href], button, input, select, textarea, [tabindex]";

/**
 * Return the controls that Tab reaches, in order. Streamlit takes them out of the order while the focus is elsewhere, and
 * keeps their `tabindex` in `data-tabindex`.
 *
 * @param {Element} popover
 */
function stopsIn(popover) {
  return [.../** @type {NodeListOf<HTMLInputElement>} */ (popover.querySelectorAll(STOPS))].filter((node) => {
    const isStop = node.tabIndex >= 0 || Number(node.dataset.tabindex ?? -1) >= 0;
    return isStop && !node.disabled && node.checkVisibility() && (node.type !== "radio" || node.checked);
  });
}

window.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Tab") return;
    const popover = document.querySelector('[data-testid="stPopoverBody"]');
    /** @type {HTMLElement | null} */
    const button = document.querySelector('[data-testid="stPopoverButton"][aria-expanded="true"]');
    const stops = popover ? stopsIn(popover) : [];
    if (!button || !stops.length) return;
    const focused = document.activeElement;
    const isAtEnd = focused === (event.shiftKey ? stops[0] : stops[stops.length - 1]);
    const next = isAtEnd ? button : focused === button && !event.shiftKey ? stops[0] : null;
    if (!next) return;
    event.preventDefault();
    next.focus();
  },
  true, // before Streamlit
);
