// The structure of a debate: rows of roles with their labels. Active roles are marked.

import { el, icon } from "./dom.js";
import { formatPlural, formatRating } from "./format.js";
import { findLabel, swatch } from "./labels.js";
import { avatar, findRole } from "./roles.js";

/** @import { RunInfo, TurnEvent } from "./debate_state.js" */
/** @import { Kind } from "./labels.js" */

/**
 * Layout of a protocol: one role after another, a round table, a court, or several panels.
 * @typedef {"chain" | "round" | "court" | "panels"} Layout
 */
/** @typedef {{ text: string, tone: string }} Agreement */

const MAX_SWATCHES = 8;

/** @param {Layout} layout @param {TurnEvent[]} turns @param {RunInfo} run @returns {Node[]} */
export function protocolDiagram(layout, turns, run) {
  if (layout === "round") return roundRows(turns, run);
  if (layout === "court") return courtRows(turns, run);
  if (layout === "panels") return panelRows(turns, run);
  return chainRows(turns, run);
}

/** @param {TurnEvent[]} turns @param {RunInfo} run */
function roundRows(turns, run) {
  return [...groupBy(turns, ({ round }) => round)].map(([round, group]) =>
    votingRow(round ? `Round ${round}` : "Alone", group, run),
  );
}

/** @param {TurnEvent[]} turns @param {RunInfo} run */
function panelRows(turns, run) {
  const groups = groupBy(turns, ({ role }) => findRole(run.roles, role).group);
  return [...groups].map(([name, group]) => {
    if (name) return votingRow(name, group, run);
    return row("", nodesOf(latestByRole(group), run)); // roles outside of the panels
  });
}

/** @param {TurnEvent[]} turns @param {RunInfo} run */
function courtRows(turns, run) {
  return [...groupBy(turns, ({ item }) => item)].flatMap(([item, group]) => {
    const of = (/** @type {string} */ role) => latestByRole(group.filter((turn) => turn.role === role));
    const rows = [];
    const hearing = group.filter(({ role }) => role === "magistrate");
    if (hearing.length) {
      const answers = [...groupBy(hearing, ({ round }) => round).values()].map((round) => round[round.length - 1]);
      rows.push(row("Hearing", chain(nodesOf(answers, run)), hearing.length > 1 ? "first and second answer" : ""));
    }
    const [prosecution, defence] = [of("prosecutor"), of("defender")];
    if (prosecution.length || defence.length) {
      const against = el("span", "tiny muted", "against");
      const precedents = group.filter(({ role }) => role === "clerk").length;
      const note = precedents ? `${formatPlural(precedents, "precedent")} shown` : "";
      const name = item ? findLabel(run.labels, item).name : "Arguments";
      rows.push(row(name, [...nodesOf(prosecution, run), against, ...nodesOf(defence, run)], note));
    }
    const judges = group.filter(({ role }) => role.startsWith("judge"));
    if (judges.length) rows.push(votingRow(item ? "" : "Bench", judges, run));
    return rows;
  });
}

/** @param {TurnEvent[]} turns @param {RunInfo} run */
function chainRows(turns, run) {
  return [...groupBy(turns, ({ item }) => item)].map(([item, group]) => {
    const steps = [...groupBy(group, ({ role, round }) => `${role} ${round}`).values()];
    const last = steps.map((step) => step[step.length - 1]);
    return row(item ? findLabel(run.labels, item).name : "", chain(nodesOf(last, run)));
  });
}

/** @param {string} name @param {TurnEvent[]} turns @param {RunInfo} run */
function votingRow(name, turns, run) {
  const votes = latestByRole(turns);
  const { text, tone } = describeAgreement(votes, run.kind);
  return row(name, nodesOf(votes, run), text, tone);
}

/** @param {string} name @param {Node[]} nodes @param {string} [note] @param {string} [tone] */
function row(name, nodes, note = "", tone = "secondary") {
  const title = el("span", "diagram-name tiny muted ellipsis", name);
  const end = note ? el("span", `tiny push ${tone}`, note) : null;
  return el("div", "diagram-row", title, el("div", "diagram-nodes", ...nodes), end);
}

/**
 * Insert arrows between nodes.
 *
 * @param {Node[]} nodes
 */
export function chain(nodes) {
  return nodes.flatMap((node, index) => (index ? [icon("chevron"), node] : [node]));
}

/** @param {TurnEvent[]} turns @param {RunInfo} run */
function nodesOf(turns, run) {
  return turns.map((turn) => turnNode(turn, run));
}

/** @param {TurnEvent} turn @param {RunInfo} run */
function turnNode(turn, run) {
  const role = findRole(run.roles, turn.role);
  const speaking = !turn.done && !turn.waiting;
  const tile = avatar(role, { small: true, filled: role.colour === "judge" });
  const detail = speaking ? el("span", "tiny", "speaking") : turn.done ? voteNode(turn, run) : null;
  const title = role.name + (speaking ? ": speaking" : turn.waiting ? `: ${turn.waiting}` : "");
  return el("span", { className: `diagram-node ${role.colour}${speaking ? " active" : ""}`, title }, tile, detail);
}

/**
 * Create the labels of a turn as coloured squares, or its ratings. A turn without a decision has none.
 *
 * @param {TurnEvent} turn
 * @param {RunInfo} run
 */
function voteNode({ labels: assigned, values, problem }, { labels, kind }) {
  const node = el("span", "vote");
  if (kind === "rating" && values) {
    const ratings = [...labels.keys()].map((id) => values[id]).filter((value) => typeof value === "number");
    if (ratings.length) node.append(ratings.map(formatRating).join(" "));
  } else if (assigned) {
    for (const id of assigned.slice(0, MAX_SWATCHES)) {
      const label = findLabel(labels, id);
      node.append(swatch(label));
      if (kind === "choice") node.append(el("span", "tiny ellipsis", label.name));
    }
    if (!assigned.length) node.append(el("span", "tiny muted", "none"));
  }
  if (!node.hasChildNodes() && problem) node.append(el("span", "tiny unres", "unreadable"));
  return node;
}

/**
 * Describe the agreement of votes: "all agree", or "3 to 1". Empty while votes are missing.
 *
 * @param {TurnEvent[]} turns
 * @param {Kind} kind
 * @returns {Agreement}
 */
export function describeAgreement(turns, kind) {
  const votes = turns.filter((turn) => turn.done && (kind === "rating" ? turn.values : turn.labels));
  if (votes.length < turns.length || votes.length < 2) return { text: "", tone: "secondary" };
  const counts = [...groupBy(votes, voteKey).values()].map((group) => group.length);
  if (counts.length === 1) return { text: "all agree", tone: "right" };
  return { text: counts.toSorted((a, b) => b - a).join(" to "), tone: "unres" };
}

/** @param {TurnEvent} turn */
function voteKey({ values, labels }) {
  return JSON.stringify(values ? Object.entries(values).toSorted() : labels?.toSorted());
}

/**
 * Return the last turn of each role, because a repeated request counts once.
 *
 * @param {TurnEvent[]} turns
 */
function latestByRole(turns) {
  return [...new Map(turns.map((turn) => [turn.role, turn])).values()];
}

/**
 * Group turns by a key, in order.
 *
 * @template Key
 * @param {TurnEvent[]} turns
 * @param {(turn: TurnEvent) => Key} keyOf
 * @returns {Map<Key, TurnEvent[]>}
 */
export function groupBy(turns, keyOf) {
  /** @type {Map<Key, TurnEvent[]>} */
  const groups = new Map();
  for (const turn of turns) {
    const key = keyOf(turn);
    groups.set(key, [...(groups.get(key) ?? []), turn]);
  }
  return groups;
}
