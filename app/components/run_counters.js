// The counters above a live run (documents, rate, time, cost, verdicts) and the notice on the state of the run.

import { el, icon, setText } from "./dom.js";
import { formatCount, formatDate, formatDuration, formatMoney, formatPlural, formatRate, MISSING } from "./format.js";

/** @import { IconName } from "./dom.js" */
/** @import { RunStatusEvent } from "./live_client.js" */

/** @typedef {{ node: HTMLElement, value: HTMLElement, detail: HTMLElement, shown: string }} Counter */
/** @typedef {{ tone: "ok" | "warn" | "bad", icon: IconName, title: string, text: string }} Notice */
/**
 * The state of the run on the page.
 * @typedef {{ state: string, budget: number | null, explained: boolean }} RunSettings
 */

const WINDOW_MS = 60_000;
/** @type {Record<string, string>} */
const ENDED = { done: "Done", stopped: "Stopped", failed: "Failed" };

/** @param {{ state: string }} run */
export function isOver({ state }) {
  return state in ENDED;
}

/** @param {RunStatusEvent} status */
export function isActive({ state }) {
  return state === "running" || state === "queued";
}

/** @param {RunStatusEvent} status */
export function countEnded({ verdicts, unresolved, failed }) {
  return verdicts + unresolved + failed;
}

export class RunCounters {
  constructor() {
    this.documents = createCounter("Documents");
    this.rate = createCounter("Rate");
    this.time = createCounter("Time left");
    this.cost = createCounter("Cost");
    this.verdicts = createCounter("Verdicts");
    this.projectedBar = el("i", "projected");
    this.spentBar = el("i", "spent");
    this.costBar = el("div", "cost-bar", this.projectedBar, this.spentBar);
    this.cost.node.insertBefore(this.costBar, this.cost.detail);
    this.parts = ["verdicts", "unresolved", "failed", "in-flight"].map((name) => el("i", name));
    const naming = { role: "progressbar", ariaLabel: "Documents debated" };
    this.progress = el("div", { className: "progress-bar", ...naming }, ...this.parts);
    const counters = [this.documents, this.rate, this.time, this.cost, this.verdicts];
    this.node = el("div", "counters", ...counters.map(({ node }) => node), this.progress);
    this.notice = el("div", "notice hidden");
    this.shownNotice = "";
    /** Numbers of calls at times within the last minute. @type {{ at: number, calls: number }[]} */
    this.samples = [];
  }

  /** @param {RunStatusEvent} status */
  addSample({ calls, cached_calls }) {
    const now = performance.now();
    this.samples.push({ at: now, calls: calls + cached_calls });
    while (this.samples.length > 2 && this.samples[0].at < now - WINDOW_MS) this.samples.shift();
  }

  /** @param {RunStatusEvent | null} status @param {RunSettings} settings */
  draw(status, settings) {
    if (!status) {
      for (const counter of [this.documents, this.rate, this.time, this.cost, this.verdicts])
        setValue(counter, [MISSING]);
      return;
    }
    const over = isOver(status);
    const ended = countEnded(status);
    setValue(this.documents, [formatCount(ended), `of ${formatCount(status.documents)}`]);
    const waiting = Math.max(0, status.documents - ended - status.in_flight);
    const current = `${formatCount(status.in_flight)} in progress, ${formatCount(waiting)} waiting`;
    setDetail(this.documents, over ? "" : el("span", "", el("i", "in-flight"), current));
    this.drawRate(status);
    this.drawTime(status);
    this.drawCost(status, settings.budget);
    setValue(this.verdicts, [formatCount(status.verdicts), "decided"]);
    const unresolved = el(
      "span",
      status.unresolved ? "unres bold" : "",
      `${formatCount(status.unresolved)} unresolved`,
    );
    const failed = el("span", status.failed ? "wrong bold" : "", `${formatCount(status.failed)} failed`);
    setDetail(this.verdicts, el("span", "", unresolved, ", ", failed));
    const counts = [status.verdicts, status.unresolved, status.failed, over ? 0 : status.in_flight];
    counts.forEach((count, index) => {
      this.parts[index].style.width = `${status.documents ? (100 * count) / status.documents : 0}%`;
    });
    Object.assign(this.progress, { ariaValueMax: String(status.documents), ariaValueNow: String(ended) });
  }

  /** @param {RunStatusEvent} status */
  drawRate(status) {
    const minutes = status.seconds / 60;
    const over = isOver(status) && minutes > 0;
    const rate = over ? countEnded(status) / minutes : status.rate;
    setValue(this.rate, [over || rate ? formatRate(rate) : MISSING, "per min"]);
    const calls = over ? (status.calls + status.cached_calls) / minutes : this.callsPerMinute(status);
    setDetail(this.rate, over || isActive(status) ? `${formatRate(calls)} calls per min` : "");
  }

  /** @param {RunStatusEvent} status */
  callsPerMinute({ seconds }) {
    const first = this.samples[0];
    const last = this.samples[this.samples.length - 1];
    const minutes = (last.at - first.at) / 60_000;
    if (minutes > 0.03) return (last.calls - first.calls) / minutes;
    return seconds > 1 ? (60 * last.calls) / seconds : 0;
  }

  /** @param {RunStatusEvent} status */
  drawTime(status) {
    const { state, seconds, eta_seconds: left, message } = status;
    if (isOver(status)) {
      setValue(this.time, [ENDED[state]]);
      setDetail(this.time, `took ${formatDuration(seconds)}`);
    } else if (state === "paused") {
      setValue(this.time, ["Paused"]);
      setDetail(this.time, left ? `${formatDuration(left)} of work left` : "");
    } else {
      setValue(this.time, [left === null ? MISSING : formatDuration(left)]);
      const end = left === null ? "measuring" : `done at about ${formatDate(new Date(Date.now() + 1000 * left))}`;
      setDetail(this.time, message ? el("span", "ellipsis", message) : end);
    }
  }

  /** @param {RunStatusEvent} status @param {number | null} budget */
  drawCost(status, budget) {
    const { cost_usd: cost, calls, cached_calls: cached } = status;
    const over = isOver(status);
    const ended = countEnded(status);
    const paidFor = ended + status.in_flight / 2; // a debate in progress is half paid for on average
    const projected = cost !== null && ended > 0 && !over ? (cost / paidFor) * status.documents : null;
    const about = cost && cost >= 0.0001 && status.estimated_calls ? "about " : "";
    if (cost === null) setValue(this.cost, ["Price unknown"]);
    else if (projected)
      setValue(this.cost, [about + formatMoney(cost), "so far"], [formatMoney(projected), "projected"]);
    else setValue(this.cost, [about + formatMoney(cost), over ? "" : "so far"]);
    this.node.classList.toggle("free", cost === 0 && calls > 0 && !budget); // as short as the other numbers
    const whole = budget || projected || 1;
    this.costBar.classList.toggle("hidden", !budget && !projected);
    this.projectedBar.style.width = `${Math.min(100, (100 * (projected || cost || 0)) / whole)}%`;
    this.spentBar.style.width = `${Math.min(100, (100 * (cost || 0)) / whole)}%`;
    const paid = calls || !cost ? formatPlural(calls, cost === 0 ? "call" : "paid call") : "billed without a reply";
    const limit = budget ? el("span", "optional", `budget ${formatMoney(budget)}`) : "";
    setDetail(this.cost, el("span", "ellipsis", `${paid}, ${formatCount(cached)} reused`), limit);
  }

  /** @param {Notice | null} notice */
  drawNotice(notice) {
    const key = JSON.stringify(notice);
    if (this.shownNotice === key) return;
    this.shownNotice = key;
    this.notice.className = notice ? `notice row ${notice.tone}` : "notice hidden";
    if (!notice) return;
    const text = el("span", "secondary", notice.text);
    this.notice.replaceChildren(icon(notice.icon), el("span", "bold", notice.title), text);
  }
}

/**
 * Return the notice on the state of a run, or null if there is none or the page shows it.
 *
 * @param {RunStatusEvent} status
 * @param {RunSettings} settings
 * @returns {Notice | null}
 */
export function describeState(status, settings) {
  const { state, message, verdicts, unresolved, failed } = status;
  if (settings.explained && state === settings.state) return null;
  const reason = status.stop_code === "user" ? "" : message;
  switch (state) {
    case "done": {
      const good = !failed && verdicts >= unresolved;
      const counts = `${formatPlural(verdicts, "verdict")}, ${formatCount(unresolved)} unresolved, ${formatCount(failed)} failed.`;
      const retry = failed && "Retry the failed ones.";
      const decide =
        unresolved &&
        (verdicts ? "Decide the unresolved ones in Review." : "The next step in the sidebar says what to change.");
      const text = [counts, ...(message ? [message] : [retry, decide])].filter(Boolean).join(" ");
      return { tone: good ? "ok" : "warn", icon: good ? "done" : "help", title: "All debates have finished.", text };
    }
    case "paused": {
      const text = reason || "All replies so far are stored. None is paid for again when the run resumes.";
      return { tone: "warn", icon: "pause", title: "Paused.", text };
    }
    case "stopped":
      return { tone: "warn", icon: "stop", title: "Stopped.", text: reason || "All replies so far are stored." };
    case "failed":
      return { tone: "bad", icon: "fail", title: "The run failed.", text: message };
    default:
      return message ? { tone: "warn", icon: "help", title: message, text: "" } : null;
  }
}

/** @param {string} name @returns {Counter} */
function createCounter(name) {
  const value = el("div", "counter-value");
  const detail = el("div", "counter-detail");
  return { node: el("div", "", el("div", "counter-name tiny muted", name), value, detail), value, detail, shown: "" };
}

/**
 * @param {Counter} counter
 * @param {...[string, string?]} parts Numbers with their units.
 */
function setValue(counter, ...parts) {
  const shown = JSON.stringify(parts);
  if (counter.shown === shown) return;
  counter.shown = shown;
  const nodes = parts.flatMap(([number, unit]) => [el("b", "", number), unit ? el("small", "", ` ${unit}`) : ""]);
  counter.value.replaceChildren(...nodes);
}

/** @param {Counter} counter @param {...(Node | string)} nodes */
function setDetail({ detail }, ...nodes) {
  if (nodes.length === 1 && typeof nodes[0] === "string") setText(detail, nodes[0]);
  else detail.replaceChildren(...nodes);
}
