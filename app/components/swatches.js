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
  Object.assign(root, { role: "radiogroup", ariaLabel: "Colour" });
  const used = new Map(data.used);
  const swatches = Array.from({ length: data.count }, (_, index) => {
    const colour = index + 1;
    const owner = used.get(colour);
    const title = owner === undefined ? `Colour ${colour}` : `Colour ${colour}, used by ${owner}`;
    const className = `l${colour}${owner === undefined ? "" : " used"}`;
    const ariaChecked = String(colour === data.selected);
    const choose = () => setTriggerValue("colour", colour);
    return button({ className, title, role: "radio", ariaLabel: title, ariaChecked }, choose);
  });
  root.replaceChildren(...swatches);
}
