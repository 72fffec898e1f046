// The current labels of a debate: the value of each label by each role, and its evidence.

import { el, icon } from "./dom.js";
import { formatPlural, formatRating } from "./format.js";
import { isSupported } from "./evidence.js";
import { labelName } from "./labels.js";
import { groupBy } from "./protocol_diagram.js";
import { avatar } from "./roles.js";

/** @import { Debate, RunInfo, TurnEvent } from "./debate_state.js" */
/** @import { Label } from "./labels.js" */
/** @import { Role } from "./roles.js" */

const MAX_COLUMNS = 7; // all roles of Courtroom

/** @param {Debate | null} debate @param {RunInfo} run @param {Set<string>} hiddenRoles */
export function labelTable(debate, run, hiddenRoles) {
  const opinions = opinionsByRole(debate);
  const roles = columns(debate, run, hiddenRoles, opinions);
  const avatars = roles.map((role) => el("th", "centre", avatar(role, { small: true })));
  const head = el("tr", "", el("th", "", "Current labels"), ...avatars, el("th", "", "Evidence"));
  const rows = [...run.labels.values()].map((label) => {
    const marks = roles.map((role) => el("td", "centre", markOf(opinions.get(role.role), label, debate)));
    return el(
      "tr",
      "",
      el("td", "", labelName(label)),
      ...marks,
      el("td", "secondary", debate && evidenceNode(debate, label)),
    );
  });
  return el("table", "", head, ...rows);
}

/**
 * Return the turns of each role that give values to labels.
 *
 * @param {Debate | null} debate
 * @returns {Map<string, TurnEvent[]>}
 */
function opinionsByRole(debate) {
  const turns = debate?.doneTurns.filter((turn) => turn.labels || (debate.run.kind === "rating" && turn.values)) ?? [];
  return groupBy(turns, ({ role }) => role);
}

/**
 * Return the roles with a column: all roles during the debate, and those that assigned labels after its end. If there is
 * no room for all roles, those that have assigned labels come first.
 *
 * @param {Debate | null} debate
 * @param {RunInfo} run
 * @param {Set<string>} hiddenRoles
 * @param {Map<string, TurnEvent[]>} opinions
 * @returns {Role[]}
 */
function columns(debate, run, hiddenRoles, opinions) {
  const visible = [...run.roles.values()].filter(({ role }) => !hiddenRoles.has(role));
  const labelling = visible.filter(({ role }) => opinions.has(role));
  const wanted = debate?.verdict && labelling.length ? labelling : visible;
  const first = [...new Set([...labelling, ...wanted])].slice(0, MAX_COLUMNS);
  return wanted.filter((role) => first.includes(role));
}

/**
 * @param {TurnEvent[] | undefined} turns Of one role.
 * @param {Label} label
 * @param {Debate | null} debate
 */
function markOf(turns, label, debate) {
  const node = el("span", "mark");
  const turn = turns?.findLast((one) => debate?.isAbout(one, label.id));
  if (!turn || !debate) {
    node.classList.add("pending");
    if (debate && !debate.verdict) node.append("…");
    return node;
  }
  const disputed = debate.disputed.has(label.id);
  if (debate.run.kind === "rating") {
    const rating = turn.values?.[label.id];
    if (typeof rating !== "number") return node;
    node.classList.add("present", disputed ? "l0" : `l${label.colour}`);
    node.append(formatRating(rating));
  } else if (turn.labels?.includes(label.id)) {
    node.classList.add("present", `l${label.colour}`);
    node.append(icon("check"));
    node.title = "assigned";
  } else {
    node.classList.add("absent");
    node.classList.toggle("disputed", disputed);
    node.append(disputed ? icon("close") : "·");
    node.title = "not assigned";
  }
  return node;
}

/** @param {Debate} debate @param {Label} label @returns {Node | string} */
function evidenceNode(debate, label) {
  const { kind } = debate.run;
  const values = debate.verdict?.values ?? null;
  const assigned = kind !== "rating" && debate.labelTurns.some(({ labels }) => labels.includes(label.id));
  if (values) {
    const value = kind === "choice" ? values.label : values[label.id];
    if (value === null && (kind !== "choice" || assigned)) {
      return debate.verdict?.status === "failed" ? el("span", "wrong", "failed") : el("span", "unres", "unresolved");
    }
    if (assigned && (kind === "choice" ? value !== label.id : value === false)) return "removed";
  } else if (debate.disputed.has(label.id)) return el("span", "wrong", "disputed");
  const quotes = debate.evidence.filter(({ item }) => item === label.id);
  const unique = new Map(
    quotes.map((one) => [one.start >= 0 ? `${one.field}:${one.start}:${one.end}` : one.quote, one]),
  );
  const found = [...unique.values()].filter(isSupported).length;
  if (found < unique.size) return found ? `${found} of ${unique.size} found` : el("span", "wrong", "not in the text");
  if (found) return formatPlural(found, "quote");
  return assigned ? "no quote" : "";
}
