// The form of a debate, drawn above what is said: rows of seats with what each says, the holder of the floor marked.

import { el, icon } from "./dom.js";
import { numeral, several } from "./format.js";
import { labelOf } from "./labels.js";
import { avatar, roleOf } from "./roles.js";

// One seat: its letter, what its list names, whether it has the floor.
function seatOf(turn, roles, labels, kind) {
  const role = roleOf(roles, turn.role);
  const speaking = !turn.done && !turn.waiting;
  const node = el("span", `seat ${role.colour}${speaking ? " on" : ""}`, avatar(role, "s", role.colour === "judge"));
  node.title = `${role.name}${speaking ? " has the floor" : turn.waiting ? `: ${turn.waiting}` : ""}`;
  if (speaking) node.append(el("span", "xs", "speaks"));
  else if (turn.done) node.append(voteOf(turn, labels, kind));
  return node;
}

// What a turn's list says, as squares of colour or ratings; nothing for a turn that only argues.
function voteOf(turn, labels, kind) {
  const box = el("span", "vote");
  if (kind === "rating" && turn.values) {
    const values = [...labels.keys()].filter((id) => typeof turn.values[id] === "number").map((id) => turn.values[id]);
    if (values.length) box.append(values.map(numeral).join(" "));
  } else if (Array.isArray(turn.labels)) {
    for (const id of turn.labels.slice(0, 8)) {
      const label = labelOf(labels, id);
      const square = el("span", `sq l${label.colour}`);
      square.title = label.name;
      box.append(square);
      if (kind === "choice") box.append(el("span", "xs ell", label.name));
    }
    if (!turn.labels.length) box.append(el("span", "xs t3", "none"));
  }
  if (!box.hasChildNodes() && turn.problem) box.append(el("span", "xs unres", "unreadable"));
  return box;
}

function shapeRow(name, nodes, note, tone) {
  return el("div", "srow", el("span", "sname ell", name), el("div", "seats", ...nodes), note ? el("span", `xs end ${tone || "t2"}`, note) : "");
}

// The last turn of each role: an ask that was repeated counts once.
function latest(turns) {
  const found = new Map();
  for (const turn of turns) found.set(turn.role, turn);
  return [...found.values()];
}

const saysOf = (turn) => JSON.stringify(turn.values ? Object.entries(turn.values).sort() : turn.labels && [...turn.labels].sort());

function agreement(turns, kind) {
  const said = turns.filter((t) => t.done && (kind === "rating" ? t.values : Array.isArray(t.labels)));
  if (said.length < turns.length || said.length < 2) return ["", ""];
  const votes = new Map();
  for (const turn of said) votes.set(saysOf(turn), (votes.get(saysOf(turn)) || 0) + 1);
  if (votes.size === 1) return ["all agree", "right"];
  return [[...votes.values()].sort((a, b) => b - a).join(" to "), "unres"];
}

function grouped(turns, key) {
  const groups = new Map();
  for (const turn of turns) {
    const name = key(turn);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(turn);
  }
  return groups;
}

function arrows(nodes) {
  return nodes.flatMap((node, index) => (index ? [icon("chevron"), node] : [node]));
}

export function shapeOf(form, turns, roles, labels, kind) {
  const seat = (turn) => seatOf(turn, roles, labels, kind);
  const about = (item) => (item ? labelOf(labels, item).name : "");
  if (form === "round") {
    return [...grouped(turns, (t) => t.round || 0)].map(([round, said]) => {
      const table = latest(said);
      const [note, tone] = agreement(table, kind);
      return shapeRow(round ? `Round ${round}` : "Alone", table.map(seat), note, tone);
    });
  }
  if (form === "court") {
    const rows = [];
    for (const [item, said] of grouped(turns, (t) => t.item || "")) {
      const of = (...names) => latest(said.filter((t) => names.includes(t.role)));
      const hearing = said.filter((t) => t.role === "magistrate");
      const bench = latest(said.filter((t) => t.role.startsWith("judge")));
      const records = said.filter((t) => t.role === "clerk");
      if (hearing.length) rows.push(shapeRow("Hearing", arrows([...grouped(hearing, (t) => t.round || 0).values()].map((each) => seat(each[each.length - 1]))), hearing.length > 1 ? "first and second answer" : ""));
      const [prosecution, defence] = [of("prosecutor"), of("defender")];
      if (prosecution.length || defence.length) {
        const versus = [...prosecution.map(seat), el("span", "xs t3", "against"), ...defence.map(seat)];
        rows.push(shapeRow(item ? `On ${about(item)}` : "Arguments", versus, records.length ? `${several(records.length, "precedent")} shown` : ""));
      }
      if (bench.length) {
        const [note, tone] = agreement(bench, kind);
        rows.push(shapeRow(item ? "" : "Bench", bench.map(seat), note, tone));
      }
    }
    return rows;
  }
  if (form === "panels") {
    const groups = grouped(turns, (t) => roleOf(roles, t.role).group || "");
    return [...groups].map(([name, said]) => {
      const table = latest(said);
      const [note, tone] = name ? agreement(table, kind) : ["", ""];
      return shapeRow(name, table.map(seat), note, tone);
    });
  }
  const steps = [...grouped(turns, (t) => t.item || "")];
  return steps.map(([item, said]) => shapeRow(about(item), arrows([...grouped(said, (t) => `${t.role} ${t.round || 0}`).values()].map((each) => seat(each[each.length - 1]))), ""));
}
