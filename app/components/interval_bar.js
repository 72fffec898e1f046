// A value with its interval on a bar.

import { el } from "./dom.js";

/**
 * Create the bar. A value or an interval that is undefined is not drawn.
 *
 * @param {number | null} value
 * @param {number | null} low
 * @param {number | null} high
 * @param {[number, number]} [range] The ends of the bar.
 */
export function intervalBar(value, low, high, [first, last] = [0, 1]) {
  const percent = (/** @type {number} */ at) => (last > first ? (100 * (at - first)) / (last - first) : 50);
  const bar = el("div", "interval-bar");
  if (low !== null && high !== null) {
    const interval = el("b");
    interval.style.left = `${percent(low)}%`;
    interval.style.width = `${percent(high) - percent(low)}%`;
    bar.append(interval);
  }
  if (value !== null) {
    const mark = el("u");
    mark.style.left = `${percent(value)}%`;
    bar.append(mark);
  }
  return bar;
}
