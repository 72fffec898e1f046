// Set query parameters of the address without an entry in the browser's history. Draws nothing.

/** @import { Component } from "./streamlit_bridge.js" */

/** @param {Component<{ page: string, parameters: Record<string, string | null> }>} component */
export default function ({ data }) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(data.parameters)) {
    if (value === null) address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  if (address.href !== location.href) history.replaceState(history.state, "", address);
}
