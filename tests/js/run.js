// Run the tests of all files in one process, because jsdom takes half a second of processor time to start.
// `node --test FILE` runs one file by itself.

import { readdirSync } from "node:fs";
import { after, describe, mock } from "node:test";

const folder = new URL(".", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".test.js"));

/** Undo what the tests of a file may have left to those of the next one. */
function reset() {
  mock.timers.reset();
  mock.restoreAll();
  if (!globalThis.window) return;
  document.body.replaceChildren();
  sessionStorage.clear();
  window.history.replaceState(null, "", "/");
}

for (const name of files.sort()) {
  describe(name, async () => {
    after(reset);
    await import(new URL(name, folder).href);
  });
}
