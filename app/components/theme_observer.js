// The menu that would choose a theme is not shown, so that the theme is always the system's.

import { whenStaying } from "./streamlit_bridge.js";
export default function ({ parentElement, setTriggerValue }) {
  const night = matchMedia("(prefers-color-scheme: dark)");
  const told = () => whenStaying(parentElement, () => setTriggerValue("switched", night.matches ? "dark" : "light"));
  night.addEventListener("change", told);
  return () => night.removeEventListener("change", told);
}
