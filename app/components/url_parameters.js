// Set query parameters of the address. Draws nothing.

import { setParameters } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/** @param {Component<{ page: string, parameters: Record<string, string | null> }>} component */
export default function ({ data }) {
  setParameters(data.parameters);
}
