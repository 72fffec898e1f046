// Ratings that the user types digit by digit, or changes by a step.

/** @typedef {{ min: number, max: number }} Scale */

/** Time for the next digit of a rating. */
export const DIGITS_MS = 700;

/**
 * Return the number that a digit gives after the number typed before it, or null if the scale does not allow it.
 *
 * @param {number} before 0 if no digit was typed.
 * @param {number} digit
 * @param {Scale | undefined} scale
 */
export function addDigit(before, digit, scale) {
  const value = 10 * before + digit;
  return scale && value <= scale.max ? value : null;
}

/**
 * Return true if the scale allows no other digit after a number.
 *
 * @param {number} value
 * @param {Scale} scale
 */
export function isComplete(value, { max }) {
  return value === 0 || 10 * value > max;
}

/**
 * Return the next lower or higher rating. Without a rating, start at the end of the scale.
 *
 * @param {unknown} value
 * @param {Scale} scale
 * @param {1 | -1} step
 */
export function nextRating(value, { min, max }, step) {
  if (typeof value !== "number") return step > 0 ? min : max;
  const rating = (step > 0 ? Math.floor(value) : Math.ceil(value)) + step;
  return Math.min(max, Math.max(min, rating));
}
