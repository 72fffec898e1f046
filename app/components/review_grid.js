// What runs inside the grid's frame, loaded by review_grid_loader.js. Texts reach the page through textContent only.
//
// Every edit goes to the studio at once (review_client.js). Until its answer, and until the page has
// rows that were read after it, the cell shows the edit: no quick second click is undone by an older answer. The page is
// run again a little after the last answer, for what it shows around the grid.

import { Teller } from "./review_client.js";
import { el } from "./dom.js";
import { leaving, whenStaying } from "./streamlit_bridge.js";
const pending = new Map();
const touched = new Set();
let teller = null, focused = null, sent = "", told = 0, later = 0, reading = false;

// ---- values: "1" present, "0" absent, "?" not readable, else a rating or a label's id

export function get(params) {
  const field = params.column.getColId();
  const own = pending.get(params.node.id + "/" + field);
  if (own !== undefined) {
    if (params.data._read < own.read) return own.value;
    pending.delete(params.node.id + "/" + field);
  }
  return params.data[field];
}

export function set(params) {
  const field = params.column.getColId();
  params.data[field] = params.newValue;
  if (field === "_act") return true;
  const own = { value: params.newValue, read: Infinity };
  pending.set(params.node.id + "/" + field, own);
  const { kind } = context(params.api);
  const value = kind === "multilabel" ? params.newValue === "1" : kind === "rating" ? Number(params.newValue) : params.newValue;
  tell(params.api, "set", { document: params.node.id, item: field.slice(2), value }, (answer) => {
    if (answer) own.read = answer.read;
    else pending.delete(params.node.id + "/" + field);
  });
  return true;
}

function tell(api, act, more, heard) {
  teller.act(act, more).then((answer) => {
    if (heard) heard(answer);
    for (const id of (answer && answer.touched) || []) touched.add(id);
    readAgain(api);
    api.refreshCells({ force: true });
    nudge(api, 600);
  });
}

// Has the grid say to the page what there is to say: a change of a cell that is not shown.
function nudge(api, wait) {
  clearTimeout(later);
  later = setTimeout(() => whenStaying(document.body, () => {
    const node = api.getDisplayedRowAtIndex(0);
    if (node) node.setDataValue("_act", String(++told));
  }), wait);
}

// The rows that acts have touched, as they are now; neither "Saved" nor a further act waits for them.
async function readAgain(api) {
  if (reading || teller.open.length) return;
  reading = true;
  while (touched.size) {
    const documents = [...touched].slice(0, 60);
    documents.forEach((id) => touched.delete(id));
    const answer = await teller.ask("cells", { documents }).catch(() => ({})); // the next run of the page brings them too
    for (const row of answer.cells || []) {
      const node = api.getRowNode(row._id);
      if (node) Object.assign(node.data, row);
    }
    api.refreshCells({ force: true });
  }
  reading = false;
}

const context = (api) => api.getGridOption("context");
const isLabel = (column) => column && column.getColId().startsWith("v_");

function next(api, value) {
  const values = context(api).values;
  const at = values.indexOf(value);
  return values[(at + 1) % values.length];
}

function turn(api, node, field) {
  if (!node || !node.data) return;
  const column = api.getColumn(field);
  node.setDataValue(field, next(api, get({ node, data: node.data, column })));
}

const act = (params, what) => tell(params.api, what, { document: params.node.id });

// ---- what the keyboard does. The grid asks this before it acts on a key itself, while the key is being pressed; what
// it tells afterwards (onCellKeyDown) comes late, and by then quick hands are on the next row. True: the grid itself
// shall leave the key alone; the browser is stopped here too (Space would scroll).

const plain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
const undoKey = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
const done = new WeakSet();

function doneBy(params) {
  const event = params.event, key = event.key;
  if (undoKey(event)) return () => act(params, event.shiftKey ? "redo" : "undo");
  if (!plain(event)) return null;
  if (key === " " && isLabel(params.column)) return () => turn(params.api, params.node, params.column.getColId());
  if (/^[1-9]$/.test(key)) return () => { const field = context(params.api).fields[Number(key) - 1]; if (field) turn(params.api, params.node, field); };
  if (key === "Backspace") return () => act(params, "undo");
  if (key === "Enter") return () => { act(params, "submit"); down(params); };
  return null;
}

export function keyed(params) {
  const event = params.event, what = doneBy(params);
  if (!what) return false;
  event.preventDefault();
  if (event.type === "keydown" && !event.repeat && !done.has(event)) { done.add(event); what(); }
  return true;
}

function down(params) {
  const row = params.node.rowIndex + 1;
  if (row >= params.api.getDisplayedRowCount()) return;
  params.api.ensureIndexVisible(row);
  params.api.setFocusedCell(row, params.column);
}

export function clicked(params) {
  if (isLabel(params.column)) turn(params.api, params.node, params.column.getColId());
}

// ---- what goes to the page

function focusOn(event) {
  const node = event.rowIndex === null || event.rowIndex === undefined ? null : event.api.getDisplayedRowAtIndex(event.rowIndex);
  if (node) { focused = node.id; event.api.refreshCells({ columns: ["_id"], force: true }); }
}

export function collect({ eventData }) {
  if (eventData.type === "cellFocused") focusOn(eventData);
  const selected = eventData.api.getSelectedNodes().map((node) => node.id).slice(0, 500);
  return { told, row: focused, selected };
}

export function wanted({ eventData }) {
  const selected = eventData.api.getSelectedNodes().map((node) => node.id).sort().join("\u0000");
  const now = [told, focused, selected].join("\u0001");
  if (now === sent) return false;
  if (leaving()) { nudge(eventData.api, 100); return false; }
  sent = now;
  return true;
}

// What was saved is said in the head of the page, which this frame can reach. The next run of the page says it too, of
// what it knows: while acts are on their way it is not left to say so.
const SAVING = "Saving…";
const head = new MutationObserver(() => { if (teller.open.length) stated("saving"); });
let watched = null;

function stated(state, words) {
  const place = window.parent.document.querySelector(".moot-saved");
  if (!place) return;
  const said = state === "saved" ? "✓ " + words : state === "saving" ? SAVING : words;
  if (place.textContent !== said) place.textContent = said;
  const around = place.closest(".st-key-review-acts") || place.parentElement;
  if (around === watched) return;
  head.disconnect();
  head.observe((watched = around), { childList: true, subtree: true, characterData: true });
}

// ---- cells

export function drawDecision(node, params) {
  const value = params.value, { words, boxes } = context(params.api);
  node.textContent = "";
  if (boxes && (value === "1" || value === "0")) {
    node.className = "cb" + (value === "1" ? " y" : "");
    node.style.setProperty("--m", params.colDef.headerComponentParams.colour);
    node.setAttribute("role", "checkbox");
    node.setAttribute("aria-checked", value === "1" ? "true" : "false");
    node.setAttribute("aria-label", params.colDef.headerComponentParams.name);
  } else if (value === "?" || value === null || value === undefined) {
    node.className = "q";
    node.textContent = "?";
    node.title = "could not be read: decide";
  } else {
    node.className = "word";
    node.textContent = words && words[value] !== undefined ? words[value] : value;
  }
}

export function drawSquares(node, params) {
  node.className = "sqs";
  node.textContent = "";
  const { names, colours, all } = context(params.api);
  const said = params.value;
  if (said === null || said === undefined || said === "") return;
  if (!said.includes("1") && !said.includes("0") && said.startsWith("?")) { const q = el("span", "q", "?"); q.title = "could not be read"; node.append(q); return; }
  if (said.startsWith("=")) { const word = el("span", "word", said.slice(1)); word.title = said.slice(1); node.append(word); return; }
  node.classList.toggle("small", names.length > 6);
  [...said].forEach((one, i) => {
    if (!all && one === "0") return;
    const square = el("span", "sq" + (one === "1" ? " y" : one === "?" ? " u" : ""));
    square.style.setProperty("--m", colours[i]);
    square.title = names[i] + ": " + (one === "1" ? "present" : one === "0" ? "absent" : "not said");
    node.append(square);
  });
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", names.filter((_, i) => said[i] === "1").join(", ") || "none");
}

export function drawBadge(node, params) {
  node.textContent = params.value || "";
  node.className = params.value ? "badge " + (params.data._tone || "") : "";
}

export function drawHeader(node, params) {
  node.className = "head";
  const name = el("span", "name", params.name);
  if (params.ink) name.style.color = params.ink;
  const square = params.colour ? el("span", "sq y") : null;
  if (square) square.style.setProperty("--m", params.colour);
  node.title = params.told || params.name;
  node.replaceChildren(...(square ? [square] : []), name);
}

export const flag = (params, letter) => Boolean(params.data) && String(params.data["m_" + params.colDef.colId.slice(2)] || "").includes(letter);
export const shown = (params) => params.node.id === focused;

// Of a long id, its beginning and its end: what it shares with its neighbours is in the middle as a rule.
export const short = ({ value }) => (value.length > 13 ? value.slice(0, 4) + "…" + value.slice(-8) : value);

export function ready(event) {
  const { focus, address, head } = context(event.api);
  teller = new Teller(address, head);
  teller.onState = stated;
  if (focus) focused = focus;
  event.api.refreshHeader();
  event.api.refreshCells({ force: true });
}

// As wide as the ids are, within the bounds of the column. (autoSizeStrategy would do, but it warns of the columns that flex.)
export function fitted(event) {
  event.api.autoSizeColumns(["_id"]);
  roomed(event);
}

// The count of quotes goes first where a row would have to be scrolled: the text below tells more of them.
export function roomed({ api }) {
  const frame = document.querySelector(".ag-root");
  const needed = api.getColumns().filter((column) => column.getColId() !== "_act")
    .reduce((sum, column) => sum + (column.getColDef().flex ? column.getMinWidth() : column.getActualWidth()), 0);
  const roomy = needed + 16 <= frame.clientWidth;
  if (api.getColumn("_quotes").isVisible() !== roomy) api.setColumnsVisible(["_quotes"], roomy);
}
