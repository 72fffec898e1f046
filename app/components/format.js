// Format numbers as text, for all components. The rules are those of core/formatting.py.

const integers = new Intl.NumberFormat("en-US");

/** Text for an undefined value. */
export const MISSING = "–";

/**
 * Format a number with fixed decimals. A tie goes to the even digit, as in Python; `toFixed` rounds it up.
 *
 * @param {number} value
 * @param {number} digits
 */
export function formatFixed(value, digits) {
  const text = value.toFixed(digits);
  const isTie = Math.abs(value * 2 ** (digits + 1)) % 2 === 1; // a binary fraction has no other ties
  return isTie && Number(text.at(-1)) % 2 ? (value - (Math.sign(value) * 10 ** -digits) / 4).toFixed(digits) : text;
}

/**
 * Round to a whole number; a tie goes to the even one, as in Python.
 *
 * @param {number} value
 */
function round(value) {
  return Number(formatFixed(value, 0));
}

/**
 * Format a count: 1,234.
 *
 * @param {number} n
 */
export function formatCount(n) {
  return integers.format(n);
}

/**
 * Format a count with its noun: 1 document, 2 documents.
 *
 * @param {number} n
 * @param {string} singular
 * @param {string} [plural] Default: the singular with an s.
 */
export function formatPlural(n, singular, plural = `${singular}s`) {
  return `${formatCount(n)} ${n === 1 ? singular : plural}`;
}

/**
 * Format dollars. A single call often costs less than a cent, so amounts below ten cents keep up to four decimals.
 *
 * @param {number | null | undefined} dollars Unknown when a price is missing.
 */
export function formatMoney(dollars) {
  if (dollars === null || dollars === undefined) return "price unknown";
  if (dollars >= 999.995) return `$${formatCount(round(dollars))}`;
  if (dollars >= 0.1 || dollars === 0) return `$${formatFixed(dollars, 2)}`;
  if (dollars < 0.0001) return "under $0.0001";
  return `$${formatFixed(dollars, 4).replace(/0{1,2}$/, "")}`;
}

/**
 * Format a duration: 12 s, 34 min, 5 h 6 min.
 *
 * @param {number} seconds
 */
export function formatDuration(seconds) {
  if (seconds < 90) return `${Math.max(1, round(seconds))} s`;
  const minutes = round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const rest = minutes % 60 ? ` ${minutes % 60} min` : "";
  return `${Math.floor(minutes / 60)} h${rest}`;
}

/**
 * Format a share as a percentage: 45%.
 *
 * @param {number} share From 0 to 1.
 */
export function formatPercent(share) {
  return `${round(100 * share)}%`;
}

/**
 * Format a score: 0.876, a correlation also −0.120.
 *
 * @param {number | null | undefined} score
 */
export function formatScore(score) {
  if (score === null || score === undefined) return MISSING;
  const text = formatFixed(Math.abs(score), 3);
  return score < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/**
 * Format a difference of scores in points: −1.2, +1.2, 0.0. Without `signed` there is no plus sign.
 *
 * @param {number} difference
 * @param {{ signed?: boolean }} [options]
 */
export function formatPoints(difference, { signed = true } = {}) {
  const points = formatFixed(Math.abs(100 * difference), 1);
  const zero = points === "0.0";
  return `${zero ? "" : difference < 0 ? "−" : signed ? "+" : ""}${points}`;
}

/**
 * Format a change of a count: +3, −2, 0.
 *
 * @param {number} n
 */
export function formatChange(n) {
  return `${n > 0 ? "+" : n < 0 ? "−" : ""}${formatCount(Math.abs(n))}`;
}

/**
 * Format a rating: 3, −1, or a mean with at most two decimals.
 *
 * @param {unknown} value
 */
export function formatRating(value) {
  return typeof value === "number" ? String(Number(formatFixed(value, 2))).replace("-", "−") : String(value);
}

/**
 * Format a rate, such as documents per minute: at most one decimal, and none from 10 on; "under 0.1" near zero.
 *
 * @param {number} rate
 */
export function formatRate(rate) {
  if (rate > 0 && rate < 0.05) return "under 0.1";
  return formatCount(Number(formatFixed(rate, rate < 10 ? 1 : 0)));
}

/**
 * Format the time of day: 14:05, or 14:05:09 with `seconds`.
 *
 * @param {Date} time
 * @param {{ seconds?: boolean }} [options]
 */
export function formatTime(time, { seconds = false } = {}) {
  return time.toTimeString().slice(0, seconds ? 8 : 5);
}

const DAY_MS = 86_400_000;

/**
 * Format a time near now: 14:05 (today), Mon 14:05 (less than six days from now), 3 Mar, 3 Mar 2025.
 *
 * @param {Date} time
 */
export function formatDate(time) {
  const now = new Date();
  if (time.toDateString() === now.toDateString()) return formatTime(time);
  const [weekday, month, , year] = time.toDateString().split(" ");
  if (Math.abs(time.getTime() - now.getTime()) < 6 * DAY_MS) return `${weekday} ${formatTime(time)}`;
  return `${time.getDate()} ${month}${time.getFullYear() === now.getFullYear() ? "" : ` ${year}`}`;
}
