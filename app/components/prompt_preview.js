// What each role is sent, with the lines that an edit added or took away. All of it is text, none of it is markup.

import { el, put } from "./dom.js";
import { count } from "./format.js";
import { roleBook } from "./roles.js";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".prompt");
  const drawn = JSON.stringify(data);
  if (root.drawn === drawn) return;
  root.drawn = drawn;
  const roles = data.roles || [];
  const names = roles.map((role) => role.title);
  if (!names.includes(root.tab)) root.tab = names[0];
  const top = root.querySelector(".prm") ? root.querySelector(".prm").scrollTop : 0;
  const tabs = el("div", "tabs");
  tabs.setAttribute("role", "tablist");
  const body = el("div", "prm");
  body.tabIndex = 0;
  body.style.setProperty("--room", data.height ? `${data.height}px` : "620px");
  const buttons = roles.map((role) => {
    const book = roleBook([{ role: role.role || "panel", name: role.title }]);
    const shown = [...book.values()][0];
    const tile = role.role ? el("span", `av s ${shown.colour}`, shown.letter) : null;
    const button = el("button", "", tile, role.title);
    button.type = "button";
    button.setAttribute("role", "tab");
    button.onclick = () => { root.tab = role.title; body.scrollTop = 0; draw(); };
    return button;
  });
  const note = el("span", "end");
  tabs.append(...buttons);
  root.replaceChildren(tabs, body);
  draw();
  const changed = body.querySelector(".added, .removed");
  const marks = JSON.stringify(roles.map((role) => role.parts.map((part) => part.pieces.filter(([op]) => op !== "same"))));
  body.scrollTop = changed && marks !== root.marks ? changed.offsetTop - body.offsetTop - 70 : top; // show what was just edited
  root.marks = marks;

  function draw() {
    roles.forEach((role, index) => buttons[index].setAttribute("aria-selected", role.title === root.tab ? "true" : "false"));
    const role = roles.find((each) => each.title === root.tab) || { parts: [] };
    const more = role.more ? `, ${role.more > 0 ? "+" : "−"}${count(Math.abs(role.more))}` : "";
    put(note, `about ${count(role.tokens || 0)} tokens${more}`);
    body.replaceChildren(...role.parts.flatMap((part, index) => [
      el("div", "who", part.speaker, index ? null : note),
      ...part.pieces.map(([op, text]) => el("pre", op === "same" ? "" : op, text === "" ? " " : text)),
    ]));
  }
}
