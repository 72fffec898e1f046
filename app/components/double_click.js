// Ignore the second click of a double click on buttons that would do their action again.
//
// Python cannot tell it from a deliberate click: a busy studio handles both late.

const REPEATABLE = ".st-key-label-add, .st-key-review-undo, .st-key-review-redo, [class*='st-key-icon-persona-add-']";

window.addEventListener(
  "click",
  (event) => {
    const { target, detail } = event; // the keyboard has the detail 0
    const isSecond = detail > 0 && detail % 2 === 0;
    if (isSecond && target instanceof Element && target.closest(REPEATABLE) !== null) event.stopImmediatePropagation();
  },
  true,
);
