// Move the focus to the name of the edited label, where buttons of the Codebook page lose it.
//
// A new label needs a name. After a save the button is disabled, and after a deletion it is gone: both leave the focus
// of a keyboard user at the start of the page.

const BUTTONS = ".st-key-label-add, .st-key-label-delete, .st-key-codebook-save";
const NAME = '[class*="st-key-codebook-label-name-"]';
const INTERVAL = 100;
const ATTEMPTS = 50;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
const stopWaiting = () => clearTimeout(timer);

/** Return the container of the name, null while Streamlit draws it for two labels. */
function editedName() {
  const [name, ...others] = document.querySelectorAll(NAME);
  return others.length || !name ? null : name;
}

window.addEventListener("keydown", stopWaiting, true);
window.addEventListener("pointerdown", stopWaiting, true);
window.addEventListener("click", (event) => {
  const { target } = event;
  const button = target instanceof Element ? target.closest(BUTTONS) : null;
  if (button === null) return;
  const isNew = button.matches(".st-key-label-add");
  if (!isNew && event.detail > 0) return; // a click of the mouse
  const before = button.matches(".st-key-codebook-save") ? null : editedName()?.className;
  let hasMoved = before === null;
  // It goes on after the focus has moved, because Streamlit may draw the field again.
  const moveFocus = (/** @type {number} */ attempts) => {
    const name = editedName();
    const field = name?.querySelector("input");
    // Streamlit draws a new field before it has its text.
    if (field?.value && name?.className !== before && (!hasMoved || document.activeElement === document.body)) {
      field.focus();
      if (isNew) field.select();
      hasMoved = true;
    }
    if (attempts > 0) timer = setTimeout(moveFocus, INTERVAL, attempts - 1);
  };
  stopWaiting();
  timer = setTimeout(moveFocus, INTERVAL, ATTEMPTS);
});
