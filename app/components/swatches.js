// The label colours to choose from. Colours of other labels are drawn lighter.

import { button } from "./dom.js";
import { rootOf } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/**
 * `used` are the colours of other labels with their names.
 * @typedef {{ count: number, selected: number, used: [number, string][] }} SwatchesData
 */

/** @param {Component<SwatchesData>} component */
export default function (component) {
  const { data, setTriggerValue } = component;
  const root = rootOf(component);
  root.setAttribute("role", "radiogroup");
  root.setAttribute("aria-label", "Colour");
  const used = new Map(data.used);
  const swatches = Array.from({ length: data.count }, (_, index) => {
    const colour = index + 1;
    const owner = used.get(colour);
    const node = button(`l${colour}`, () => setTriggerValue("colour", colour));
    node.classList.toggle("used", owner !== undefined);
    node.title = owner === undefined ? `Colour ${colour}` : `Colour ${colour}, used by ${owner}`;
    node.setAttribute("role", "radio");
    node.setAttribute("aria-label", node.title);
    node.setAttribute("aria-checked", String(colour === data.selected));
    return node;
  });
  root.replaceChildren(...swatches);
}
