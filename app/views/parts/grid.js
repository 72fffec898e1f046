// What runs inside the grid's frame. Texts reach the page through textContent only.
//
// Every edit is kept in a log under a running number until a later row comes back from the store with an
// acknowledgement of that number ("_ack": grid:number). Until then the cell shows the edit, whatever older answer of
// the store arrives meanwhile: so no quick second click is undone by the answer to the first.
window.moot = (() => {
  const life = Math.random().toString(36).slice(2, 10);
  const log = [];
  const pending = new Map();
  let number = 0, focused = null, sent = "";

  const el = (tag, cls, text) => {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    if (text !== undefined) node.textContent = text;
    return node;
  };

  function acknowledged(row) {
    const [whose, upTo] = String(row._ack || "").split(":");
    return whose === life ? Number(upTo) : 0;
  }

  // ---- values: "1" present, "0" absent, "?" not readable, else a rating or a label's id

  function get(params) {
    const field = params.column.getColId();
    const own = pending.get(params.node.id + "/" + field);
    if (own !== undefined) {
      if (acknowledged(params.data) < own.number) return own.value;
      pending.delete(params.node.id + "/" + field);
    }
    return params.data[field];
  }

  function set(params) {
    const field = params.column.getColId();
    note(params.node.id, field, params.newValue);
    pending.set(params.node.id + "/" + field, { number, value: params.newValue });
    params.data[field] = params.newValue;
    return true;
  }

  function note(row, field, value) {
    number += 1;
    log.push([number, row, field, value]);
    while (log.length > 200) log.shift();
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

  const act = (node, what) => node.setDataValue("_act", what + " " + (number + 1));

  // ---- what the keyboard does. The grid asks this before it acts on a key itself, while the key is being pressed; what
  // it tells afterwards (onCellKeyDown) comes late, and by then quick hands are on the next row. True: the grid itself
  // shall leave the key alone; the browser is stopped here too (Space would scroll).

  const plain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
  const undoKey = (event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  const done = new WeakSet();

  function doneBy(params) {
    const event = params.event, key = event.key;
    if (undoKey(event)) return () => act(params.node, event.shiftKey ? "redo" : "undo");
    if (!plain(event)) return null;
    if (key === " " && isLabel(params.column)) return () => turn(params.api, params.node, params.column.getColId());
    if (/^[1-9]$/.test(key)) return () => { const field = context(params.api).fields[Number(key) - 1]; if (field) turn(params.api, params.node, field); };
    if (key === "Backspace") return () => act(params.node, "undo");
    if (key === "Enter") return () => { act(params.node, "submit"); down(params); };
    return null;
  }

  function keyed(params) {
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

  function clicked(params) {
    if (isLabel(params.column)) turn(params.api, params.node, params.column.getColId());
  }

  // ---- what goes to the page

  function focusOn(event) {
    const node = event.rowIndex === null || event.rowIndex === undefined ? null : event.api.getDisplayedRowAtIndex(event.rowIndex);
    if (node) { focused = node.id; event.api.refreshCells({ columns: ["_id"], force: true }); }
  }

  function collect({ eventData }) {
    if (eventData.type === "cellFocused") focusOn(eventData);
    const selected = eventData.api.getSelectedNodes().map((node) => node.id).slice(0, 500);
    const first = eventData.api.getDisplayedRowAtIndex(0);
    const known = first && first.data ? acknowledged(first.data) : 0;
    while (log.length && log[0][0] <= known) log.shift();
    return { grid: life, number, edits: log, row: focused, selected };
  }

  function wanted({ streamlitRerunEventTriggerName, eventData }) {
    const selected = eventData.api.getSelectedNodes().map((node) => node.id).sort().join("\u0000");
    const now = [number, focused, selected].join("\u0001");
    const same = now === sent;
    sent = now;
    return streamlitRerunEventTriggerName === "cellValueChanged" || !same;
  }

  // ---- cells

  class Box {
    init(params) { this.e = el("span"); this.refresh(params); }
    getGui() { return this.e; }
    refresh(params) {
      const value = params.value, words = context(params.api).words;
      this.e.textContent = "";
      if (value === "1" || value === "0") {
        this.e.className = "cb" + (value === "1" ? " y" : "");
        this.e.style.setProperty("--m", params.colDef.headerComponentParams.colour);
        this.e.setAttribute("role", "checkbox");
        this.e.setAttribute("aria-checked", value === "1" ? "true" : "false");
        this.e.setAttribute("aria-label", params.colDef.headerComponentParams.name);
      } else if (value === "?" || value === null || value === undefined) {
        this.e.className = "q";
        this.e.textContent = "?";
        this.e.title = "could not be read: decide";
      } else {
        this.e.className = "word";
        this.e.textContent = words && words[value] !== undefined ? words[value] : value;
      }
      return true;
    }
  }

  class Squares {
    init(params) { this.e = el("span", "sqs"); this.refresh(params); }
    getGui() { return this.e; }
    refresh(params) {
      this.e.textContent = "";
      const { names, colours } = context(params.api);
      const said = params.value;
      if (said === null || said === undefined || said === "") { this.e.append(el("span", "nothing", "")); return true; }
      if (!said.includes("1") && !said.includes("0") && said.startsWith("?")) { const q = el("span", "q", "?"); q.title = "could not be read"; this.e.append(q); return true; }
      if (said.startsWith("=")) { this.e.append(el("span", "word", said.slice(1))); return true; }
      [...said].forEach((one, i) => {
        const square = el("span", "sq" + (one === "1" ? " y" : one === "?" ? " u" : ""));
        square.style.setProperty("--m", colours[i]);
        square.title = names[i] + ": " + (one === "1" ? "present" : one === "0" ? "absent" : "not said");
        this.e.append(square);
      });
      this.e.setAttribute("role", "img");
      this.e.setAttribute("aria-label", names.filter((_, i) => said[i] === "1").join(", ") || "none");
      return true;
    }
  }

  class Badge {
    init(params) { this.e = el("span"); this.refresh(params); }
    getGui() { return this.e; }
    refresh(params) {
      this.e.textContent = params.value || "";
      this.e.className = params.value ? "badge " + (params.data._tone || "") : "";
      return true;
    }
  }

  class Head {
    init(params) {
      this.e = el("span", "head");
      if (params.colour) { const square = el("span", "sq y"); square.style.setProperty("--m", params.colour); this.e.append(square); }
      const name = el("span", "name", params.name);
      if (params.ink) name.style.color = params.ink;
      this.e.title = params.told || params.name;
      this.e.append(name);
    }
    getGui() { return this.e; }
    refresh() { return false; }
  }

  const flag = (letter) => (params) => Boolean(params.data) && String(params.data["m_" + params.colDef.colId.slice(2)] || "").includes(letter);
  const shown = (params) => params.node.id === focused;

  function ready(event) {
    const { css, focus } = context(event.api);
    const sheet = el("style");
    sheet.textContent = css;
    document.head.append(sheet);
    if (focus) focused = focus;
  }

  // As wide as the ids are, within the bounds of the column. (autoSizeStrategy would do, but it warns of the columns that flex.)
  const fitted = (event) => event.api.autoSizeColumns(["_id"]);

  return { get, set, clicked, keyed, collect, wanted, focusOn, ready, fitted, flag, shown, Box, Squares, Badge, Head };
})();
