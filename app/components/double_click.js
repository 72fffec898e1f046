// Ignore the second click of a double click on buttons that add something.
//
// Python cannot tell it from a deliberate click: a busy studio handles both late.

const ADDING = ".st-key-label-add, [class*='st-key-icon-persona-add-']";

window.addEventListener(
  "click",
  (event) => {
    const { target, detail } = event; // the keyboard has the detail 0
    const isSecond = detail > 0 && detail % 2 === 0;
    if (isSecond && target instanceof Element && target.closest(ADDING) !== null) event.stopImmediatePropagation();
  },
  true,
);
