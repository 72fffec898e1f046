// The eight label colours; those of other labels are drawn lighter.

import { el } from "./dom.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const used = new Map((data.used || []).map(([colour, name]) => [colour, name]));
  const root = parentElement.querySelector(".swatches");
  const all = Array.from({ length: data.count }, (_, index) => {
    const colour = index + 1;
    const button = el("button", `l${colour}${used.has(colour) ? " used" : ""}`);
    button.type = "button";
    button.title = used.has(colour) ? `Colour ${colour}, that of ${used.get(colour)}` : `Colour ${colour}`;
    button.setAttribute("role", "radio");
    button.setAttribute("aria-label", button.title);
    button.setAttribute("aria-checked", colour === data.picked ? "true" : "false");
    button.onclick = () => setTriggerValue("colour", colour);
    return button;
  });
  root.replaceChildren(...all);
}
