// A debate that has been held, drawn at once.

export default function (component) {
  const root = component.parentElement.querySelector(".transcript-root");
  const data = component.data || {};
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn) return;
  root.drawn = drawn;
  root.classList.toggle("framed", Boolean(data.framed));
  root.style.setProperty("--room", data.height ? `${data.height}px` : "none");
  root.replaceChildren(...heldDebate(data));
}
