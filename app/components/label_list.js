// The list of labels: choose one by click or arrow key, order them by dragging the grip or with Alt and an arrow key.

import { el } from "./dom.js";

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const root = parentElement.querySelector(".lablist");
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn && !root.moved) return;
  root.drawn = drawn;
  root.moved = false;
  const focused = root.getRootNode().activeElement;
  const keep = focused && root.contains(focused) ? [focused.closest(".li").dataset.id, focused.className.split(" ")[0]] : null;
  const rows = (data.labels || []).map((label) => {
    const grip = el("button", "grip");
    grip.type = "button";
    grip.setAttribute("aria-label", `Move ${label.name}: drag, or press Alt with an arrow key`);
    const name = el("span", "ell", label.name);
    name.title = label.name;
    const pick = el("button", "pick", el("span", `sq l${label.colour}`), name, label.note ? el("span", "n", label.note) : null);
    pick.type = "button";
    const row = el("div", `li${label.id === data.picked ? " on" : ""}`, grip, pick);
    row.dataset.id = label.id;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", label.id === data.picked ? "true" : "false");
    pick.onclick = () => setTriggerValue("pick", label.id);
    row.onkeydown = (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.altKey) {
        const other = step < 0 ? row.previousElementSibling : row.nextElementSibling;
        if (!other) return;
        other[step < 0 ? "before" : "after"](row);
        event.target.focus();
        tell();
      } else {
        const other = step < 0 ? row.previousElementSibling : row.nextElementSibling;
        if (other) other.querySelector(".pick").focus();
      }
    };
    grip.onpointerdown = (event) => hold(event, row, grip);
    return row;
  });
  root.replaceChildren(...rows);
  if (keep) {
    const row = rows.find((each) => each.dataset.id === keep[0]);
    const target = row && row.querySelector(`.${keep[1]}`);
    if (target) target.focus();
  }

  function ids() {
    return [...root.children].map((row) => row.dataset.id);
  }

  function tell() {
    const now = ids();
    if (now.join() === (data.labels || []).map((label) => label.id).join()) return;
    root.moved = true; // if the order is refused, the next drawing puts it back
    setTriggerValue("order", now);
  }

  function hold(event, row, grip) {
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    row.classList.add("held");
    let from = event.clientY;
    const follow = (move) => {
      let by = move.clientY - from;
      const up = row.previousElementSibling, down = row.nextElementSibling;
      if (down && by > down.offsetHeight / 2) { from += down.offsetHeight; by -= down.offsetHeight; down.after(row); }
      else if (up && -by > up.offsetHeight / 2) { from -= up.offsetHeight; by += up.offsetHeight; up.before(row); }
      row.style.transform = `translateY(${by}px)`;
    };
    const drop = () => {
      grip.removeEventListener("pointermove", follow);
      row.classList.remove("held");
      row.style.transform = "";
      tell();
    };
    grip.addEventListener("pointermove", follow);
    grip.addEventListener("lostpointercapture", drop, { once: true });
  }
}
