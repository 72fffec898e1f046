// Set query parameters of the address. Draws nothing.

import { setParameters } from "./streamlit_bridge.js";

/** @import { Component } from "./streamlit_bridge.js" */

/** @param {Component<{ page: string, parameters: Record<string, string | null> }>} component */
export default function ({ data: { parameters } }) {
  const project = new URL(location.href).searchParams.get("project");
  const isOtherProject = project !== null && (parameters.project ?? project) !== project;
  setParameters({ ...(isOtherProject && { document: null }), ...parameters }); // the old project's document
}
