// Rows of the review queue: which ones wait, and which one was drawn.

/** @typedef {"Pending" | "Draft" | "Submitted" | "Discarded"} ReviewStatus */
/** @typedef {{ how: "drawn", probability: number, remaining: number, frame: number }} SamplingRecord */
/** @typedef {{ status: ReviewStatus, skipped: boolean, sampling: SamplingRecord | null }} QueuedDocument */

/** Milliseconds. Nobody reads a document and decides on it in less time. */
export const REACTION_MS = 500;

/** @param {ReviewStatus} status */
export function isSettled(status) {
  return status === "Submitted" || status === "Discarded";
}

/** @param {Pick<QueuedDocument, "status" | "skipped">} row */
export function isWaiting({ status, skipped }) {
  return !isSettled(status) && !skipped;
}

/**
 * Return the sampling record of a row that is decided, or null if the user picked it: the probability is that of being
 * the next one, so only the first waiting row was drawn.
 *
 * @param {QueuedDocument[]} rows All rows from the beginning of the queue on.
 * @param {QueuedDocument | undefined} row
 */
export function samplingOf(rows, row) {
  return row && rows.find(isWaiting) === row ? row.sampling : null;
}
