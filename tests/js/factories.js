// Factories of the studio's events, for tests.

import { createLabels } from "../../app/components/labels.js";
import { createRoles } from "../../app/components/roles.js";

export const LABELS = [
  { id: "a", name: "Food", colour: 1 },
  { id: "b", name: "Service", colour: 2 },
  { id: "c", name: "Price", colour: 3 },
];

export function makeRun(kind = "multilabel", roles = ["extractor", "critic", "judge"]) {
  return { labels: createLabels(LABELS), roles: createRoles(roles.map((role) => ({ role, colour: role }))), kind };
}

export function makeTurn(turn, role, fields = {}) {
  const { text = "words", labels = null } = fields;
  return {
    kind: "turn",
    document_id: "d1",
    turn,
    role,
    model: "tiny",
    cached: false,
    round: 0,
    replies_to: [],
    item: "",
    attempt: 0,
    offset: 0,
    end: text.length,
    text,
    done: true,
    labels,
    values: labels && Object.fromEntries(LABELS.map(({ id }) => [id, labels.includes(id)])),
    evidence: [],
    ...fields,
  };
}

export function makeVerdict(fields = {}) {
  return {
    kind: "verdict",
    document_id: "d1",
    status: "verdict",
    values: {},
    reasons: {},
    notes: [],
    error: "",
    ...fields,
  };
}

export function makeEvidence(item, quote, start, replyStart = -1) {
  const found = start >= 0;
  return {
    item,
    quote,
    field: found ? "text" : "",
    start,
    end: found ? start + quote.length : -1,
    match: found ? "exact" : "missing",
    reply_start: replyStart,
    reply_end: replyStart < 0 ? -1 : replyStart + quote.length,
  };
}

export function makeStatus(fields = {}) {
  return {
    kind: "run_status",
    state: "running",
    documents: 10,
    verdicts: 4,
    unresolved: 1,
    failed: 0,
    in_flight: 2,
    calls: 12,
    cached_calls: 3,
    estimated_calls: 0,
    cost_usd: 0.5,
    seconds: 60,
    rate: 5,
    eta_seconds: 60,
    message: "",
    stop_code: "",
    ...fields,
  };
}
