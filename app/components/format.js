// Numbers as text: the one home for formatting in the browser.

const plain = new Intl.NumberFormat("en-US");
export const count = (n) => plain.format(n);
export const several = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
export function money(x) {
  if (x === null || x === undefined) return "not priced";
  if (x === 0) return "$0.00";
  return "$" + (x < 0.1 ? x.toFixed(4) : x < 1000 ? x.toFixed(2) : count(Math.round(x)));
}
export function span(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

// A rating as people read it: 3, or a mean to two places.
export const numeral = (value) => (typeof value === "number" ? String(Math.round(value * 100) / 100) : String(value));
