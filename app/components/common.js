// What all own components share. Documents and model texts reach the page through textContent and text nodes only.

const SVG = "http://www.w3.org/2000/svg";
const ICONS = {
  check: "M5 12.5l4.5 4.5L19 7.5",
  close: "M6.5 6.5l11 11M17.5 6.5l-11 11",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v5",
  eye: "M2.5 12S6 5.5 12 5.5 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 9.200a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600z",
  chevron: "M9.500 6l6 6-6 6",
  clock: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM12 7.500V12l3 2",
  help: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM9.600 9.600a2.500 2.500 0 1 1 3.500 2.300c-.8.4-1.100.9-1.100 1.800M12 16.600v.1",
  done: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM8.300 12.300l2.600 2.600 4.900-5.300",
  fail: "M12 3.500a8.500 8.500 0 1 0 0 17 8.500 8.500 0 0 0 0-17zM12 8v4.700M12 15.900v.1",
  reply: "M9 6L4.500 10.500 9 15M4.500 10.500H15a4.500 4.500 0 0 1 4.500 4.500v3",
  play: "M8 5.500v13l10.500-6.500z",
  stop: "M7 7h10v10H7z",
  pause: "M8.500 6v12M15.500 6v12",
  picture: "M4.500 5.500h15v13h-15zM4.500 15.500l4-4 3.500 3.500 2.500-2.500 5 4.500M14.500 8.800v.1",
  download: "M12 4.500v10M7.500 10.500l4.500 4.500 4.500-4.500M5 19.500h14",
  search: "M10.500 4.500a6 6 0 1 0 0 12 6 6 0 0 0 0-12zM15 15l5 5",
};

function el(tag, cls, ...children) {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  for (const child of children) if (child !== null && child !== undefined && child !== false) node.append(child);
  return node;
}

function icon(name, cls) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "i" + (cls ? " " + cls : ""));
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const plain = new Intl.NumberFormat("en-US");
const count = (n) => plain.format(n);
const several = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
function money(x) {
  if (x === null || x === undefined) return "not priced";
  if (x === 0) return "$0.00";
  return "$" + (x < 0.1 ? x.toFixed(4) : x < 1000 ? x.toFixed(2) : count(Math.round(x)));
}
function span(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

// ---- roles: one stable colour and letter each

function roleColour(role) {
  const name = role.toLowerCase();
  for (const known of ["extractor", "critic", "judge", "advocate"]) if (name.startsWith(known)) return known;
  if (/^(prosecut|defen|proponent|opponent)/.test(name)) return "advocate";
  if (/^(person|you|author)/.test(name)) return "person";
  return "panelist";
}

function roleBook(roles) {
  const book = new Map();
  for (const row of roles || []) {
    const role = typeof row === "string" ? row : row.role;
    const name = (typeof row === "string" ? "" : row.name) || pretty(role);
    book.set(role, { role, name, colour: roleColour(role), letter: name.slice(0, 1).toUpperCase(), group: row.group || "" });
  }
  const seen = new Map();
  for (const r of book.values()) seen.set(r.letter, (seen.get(r.letter) || 0) + 1);
  for (const r of book.values()) {
    if (seen.get(r.letter) < 2) continue;
    const number = r.name.match(/(\d{1,2})\D*$/);
    const words = r.name.split(/\s+/);
    if (/^[A-Z]$/.test(words[words.length - 1])) { r.letter = words[words.length - 1]; continue; } // Annotator B is known as B
    r.letter = number ? r.letter + number[1].slice(-1) : words[1] ? r.letter + words[1][0].toUpperCase() : r.name.slice(0, 2);
  }
  return book;
}

const pretty = (role) => (role.charAt(0).toUpperCase() + role.slice(1)).replace(/[_-]+/g, " ");

function roleOf(book, role) {
  let found = book.get(role);
  if (!found) {
    const name = pretty(role || "?");
    found = { role, name, colour: roleColour(role || ""), letter: name.slice(0, 1) };
    book.set(role, found);
  }
  return found;
}

// Whom a turn has heard, in words: "answers the critic", "weighs both", "hears A, B and C".
function heardOf(turn, roles) {
  const others = turn.answers.filter((role) => role !== turn.role);
  if (!others.length) return turn.answers.length ? "goes over its own words" : "";
  const names = others.map((role) => roleOf(roles, role).name);
  if (roleColour(turn.role) === "judge" && others.length === 2) return "weighs both";
  if (names.length === 1) return `answers ${names[0]}`;
  if (names.length > 4) return `hears ${names.length} others`;
  return `hears ${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

function avatar(r, size, filled) {
  const node = el("span", `av ${r.colour} ${size || ""} ${filled ? "f" : ""} ${r.letter.length > 1 ? "two" : ""}`, r.letter);
  node.title = r.name;
  return node;
}

// ---- labels

function labelBook(labels) {
  const book = new Map();
  (labels || []).forEach((label, index) => {
    book.set(label.id, { id: label.id, name: label.name, colour: label.colour || (index % 8) + 1, digit: index < 9 ? String(index + 1) : "" });
  });
  return book;
}

const labelOf = (book, id) => book.get(id) || { id, name: String(id), colour: 0, digit: "" };

function tag(label, absent, value) {
  const node = el("span", `tag l${label.colour}${absent ? " no" : ""}`, el("span", `sq${absent ? " o" : ""}`), el("span", "ell", label.name));
  if (value !== undefined && value !== null) node.append(el("b", "", numeral(value)));
  return node;
}

// A rating as people read it: 3, or a mean to two places.
const numeral = (value) => (typeof value === "number" ? String(Math.round(value * 100) / 100) : String(value));

// What a verdict amounts to in a narrow place: a square for each label, or the ratings in the order of the codebook.
function inSmall(ids, values, book, kind) {
  if (kind === "rating" && values) return ids.length ? [el("span", "xs t2", [...book.keys()].map((id) => (ids.includes(id) ? numeral(values[id]) : "–")).join(" "))] : [];
  return ids.slice(0, 8).map((id) => { const label = labelOf(book, id); const square = el("span", `sq l${label.colour}`); square.title = label.name; return square; });
}

// label ids that a verdict's values name as present, for any kind of codebook
function present(values, book, kind) {
  if (!values) return [];
  if (kind === "choice") return "label" in values && values.label !== null ? [values.label] : [];
  return Object.keys(values).filter((id) => (kind === "rating" ? values[id] !== null : values[id] === true));
}

// ---- text with marks

// Python counts code points, JavaScript counts UTF-16 units.
function units(text) {
  if (!/[\ud800-\udbff]/.test(text)) return (n) => n;
  const at = [];
  let i = 0;
  for (const c of text) { at.push(i); i += c.length; }
  at.push(i);
  return (n) => at[Math.max(0, Math.min(n, at.length - 1))];
}

const FOLD = { "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " ", "\n": " ", "\t": " " };
function fold(text) {
  const same = text.replace(/[“”„«»‘’–—\u00a0\n\t]/g, (c) => FOLD[c]);
  const low = same.toLowerCase();
  return low.length === same.length ? low : same; // positions must stay what they are
}

// Split text at its marks: [{text, mark|null}], marks = [{start, end, ...}] in UTF-16, shortest wins where they overlap.
function split(text, marks) {
  const cuts = new Set([0, text.length]);
  const used = marks.filter((m) => m.end > m.start && m.start >= 0 && m.end <= text.length);
  for (const m of used) { cuts.add(m.start); cuts.add(m.end); }
  const points = [...cuts].sort((a, b) => a - b);
  const parts = [];
  for (let i = 0; i + 1 < points.length; i++) {
    const over = used.filter((m) => m.start <= points[i] && m.end >= points[i + 1]).sort((a, b) => a.end - a.start - (b.end - b.start));
    parts.push({ text: text.slice(points[i], points[i + 1]), mark: over[0] || null, ends: used.filter((m) => m.end === points[i + 1]) });
  }
  return parts;
}

// A document field with its evidence. spans = [{item, start, end, disputed}] in code points.
function drawDocument(node, text, spans, labels) {
  const at = units(text);
  const marks = spans.map((s) => ({ ...s, start: at(s.start), end: at(s.end) }));
  const nodes = [];
  for (const part of split(text, marks)) {
    if (!part.mark) { nodes.push(document.createTextNode(part.text)); continue; }
    const label = labelOf(labels, part.mark.item);
    const mark = el("span", `ev l${label.colour}${part.mark.disputed ? " dis" : ""}`, part.text);
    mark.title = label.name + (part.mark.disputed ? " (disputed)" : "");
    const digits = [...new Set(part.ends.map((m) => labelOf(labels, m.item).digit).filter(Boolean))].join(",");
    if (digits) mark.append(el("sup", "", digits));
    nodes.push(mark);
  }
  node.replaceChildren(...nodes);
}

// Where the words of a reply want marking: bold, label names at a line's start, quotes that are evidence.
function marksIn(text, context) {
  const found = [];
  const folded = fold(text);
  const add = (start, end, mark) => {
    if (!found.some((m) => start < m.end && end > m.start)) found.push({ start, end, ...mark });
  };
  for (const row of context.evidence || []) {
    const quote = fold(row.quote || "");
    if (quote.length < 3) continue;
    for (let i = folded.indexOf(quote), n = 0; i >= 0 && n < 4; i = folded.indexOf(quote, i + quote.length), n++)
      add(i, i + quote.length, { kind: row.match === "missing" ? "gone" : "quote", item: row.item, disputed: context.disputed && context.disputed.has(row.item) });
  }
  const quoted = /["“„«]([^"“”„«»\n]{6,400})["”“»]/g;
  for (let hit; (hit = quoted.exec(text)); ) {
    const place = context.locate ? context.locate(hit[1]) : null;
    if (!place) continue;
    const start = hit.index + 1;
    const item = nameBefore(text, start, context.names);
    if (item || hit[1].includes(" ")) add(start, start + hit[1].length, { kind: "quote", item, place });
  }
  for (const pattern of [/\*\*([^*\n]{1,160})\*\*/g, context.heads]) {
    if (!pattern) continue;
    pattern.lastIndex = 0;
    for (let hit; (hit = pattern.exec(text)); ) {
      if (!hit[0].length) { pattern.lastIndex++; continue; }
      if (pattern === context.heads) add(hit.index + hit[1].length, hit.index + hit[0].length, { kind: "bold" });
      else add(hit.index, hit.index + hit[0].length, { kind: "bold", inner: hit[1] });
    }
  }
  return found;
}

// The label whose name stands nearest before this place.
function nameBefore(text, place, names) {
  const before = text.slice(Math.max(0, place - 600), place).toLowerCase();
  let best = null, at = -1;
  for (const [name, id] of names || []) {
    const i = before.lastIndexOf(name);
    if (i > at) { at = i; best = id; }
  }
  return best;
}

function said(text, context, labels) {
  return split(text, marksIn(text, context)).map(({ text: words, mark }) => {
    if (!mark) return document.createTextNode(words);
    if (mark.kind === "bold") return el("b", "", mark.inner || words);
    if (mark.kind === "gone") { const node = el("span", "gone qt", words); node.title = "not in the text"; return node; }
    const label = labelOf(labels, mark.item);
    const node = el("span", `ev qt l${label.colour}${mark.disputed ? " dis" : ""}`, words);
    if (label.colour) node.title = label.name;
    return node;
  });
}

function escapeRegExp(text) { return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }

// What marksIn needs to know of a debate.
function textContext(labels, fields) {
  const names = [...labels.values()].map((l) => [l.name.toLowerCase(), l.id]).sort((a, b) => b[0].length - a[0].length);
  const any = names.map(([name]) => escapeRegExp(name)).join("|");
  const folded = Object.entries(fields || {}).map(([name, text]) => [name, fold(text)]);
  return {
    names,
    heads: any ? new RegExp(`(^[-•\\s]*)#?(?:${any})(?=[.:]|\\s*[-–—:])[.:]?`, "gim") : null,
    locate(quote) {
      const wanted = fold(quote).replace(/^[\s.…,]+|[\s.…,]+$/g, "");
      if (wanted.length < 6) return null;
      for (const [field, text] of folded) {
        const start = text.indexOf(wanted);
        if (start >= 0) return { field, start, end: start + wanted.length };
      }
      return null;
    },
  };
}

// A turn with what it says in one form: labels = ids that it names (null: it gave no list), values = ratings by id.
function normal(turn, kind) {
  const values = turn.values || null;
  if (kind === "rating") return { ...turn, labels: null, values };
  if (kind !== "choice") return turn;
  if (values && values.label) return { ...turn, labels: [values.label] };
  return { ...turn, labels: turn.labels && turn.labels.length ? turn.labels : null };
}

// ---- one turn. Streaming only appends; a paragraph is drawn anew when a quote or a bold word in it closes.

class TurnView {
  constructor(board) {
    this.board = board;
    this.text = "";
    this.head = null;
    this.said = el("div", "said");
    this.said.setAttribute("aria-live", "off");
    this.caret = el("span", "caret hide");
    this.meta = el("div", "meta");
    this.extra = el("div");
    this.side = el("div");
    this.node = el("article", "turn", this.side, el("div", "", this.meta, this.said, this.extra));
    this.paragraph = null;
    this.begun = 0;
  }

  context() {
    const { debate } = this.board;
    return { ...debate.context, evidence: [...(this.head ? debate.evidenceOf(this.head) : []), ...debate.evidenceBefore(this.head ? this.head.turn : 0)], disputed: debate.disputed };
  }

  setHead(head) {
    const ended = head.done && !(this.head && this.head.done);
    const role = roleOf(this.board.roles, head.role);
    if (this.shownRole !== head.role) {
      this.shownRole = head.role;
      this.node.className = `turn ${role.colour}`;
      this.side.replaceChildren(avatar(role, "", role.colour === "judge"));
      this.node.setAttribute("aria-label", role.name);
    }
    this.head = head;
    this.drawMeta();
    if (ended) this.settle();
  }

  drawMeta() {
    const { head } = this;
    const role = roleOf(this.board.roles, head.role);
    const bits = [el("span", "rn", role.name), el("span", "model", head.model || "")];
    const to = this.board.debate.answers(head.turn);
    if (to) bits.push(el("span", "to", icon("reply"), " " + to));
    if (head.done) {
      const tokens = head.completion_tokens ? `${count(head.completion_tokens)} tok` : "";
      const cost = head.cached ? "from the store" : head.cost === null || head.cost === undefined ? "" : money(head.cost);
      const time = head.cached ? "" : head.seconds < 0.05 ? "" : `${head.seconds.toFixed(1)} s`;
      bits.push(el("span", "num", [time, tokens, cost].filter(Boolean).join("   ")));
    } else if (head.waiting) {
      bits.push(el("span", "floor wait", head.waiting));
    } else {
      const rate = head.elapsed > 0.7 ? `, ${Math.round(head.tokens / head.elapsed)} tok/s` : "";
      if (head.tokens) bits.push(el("span", "", `${count(head.tokens)} tok${rate}`));
      bits.push(el("span", "floor", "has the floor"));
    }
    if (this.board.playing) bits.splice(2, 9, el("span", "num", "replay"));
    this.meta.replaceChildren(...bits);
    const speaking = !head.done || this.speaking;
    this.node.classList.toggle("on", Boolean(speaking));
    this.caret.classList.toggle("hide", !speaking || Boolean(head.waiting));
  }

  restart() {
    this.text = "";
    this.said.replaceChildren();
    this.paragraph = null;
    this.said.classList.remove("raw");
  }

  append(text) {
    if (!text) return;
    if (!this.text && /^\s*[{[]|^\s*```/.test(text)) this.said.classList.add("raw");
    this.text += text;
    const lines = text.split("\n");
    lines.forEach((line, index) => {
      if (index > 0) {
        this.redraw();
        this.paragraph.append("\n");
        this.begun += this.line.length + 1;
        this.paragraph = null;
      }
      if (!this.paragraph) {
        this.line = "";
        this.paragraph = el("span");
        this.tail = document.createTextNode("");
        this.paragraph.append(this.tail);
        this.said.append(this.paragraph, this.caret);
      }
      this.line += line;
      this.tail.appendData(line);
      if (/["”»*]/.test(line)) this.redraw();
    });
  }

  redraw() {
    const nodes = said(this.line, this.context(), this.board.labels);
    this.board.debate.glimpse(this.head ? this.head.turn : 0, this.line, this.context());
    this.tail = nodes.length && nodes[nodes.length - 1].nodeType === 3 ? nodes.pop() : document.createTextNode("");
    this.paragraph.replaceChildren(...nodes, this.tail);
  }

  settle() {
    const { head, board } = this;
    this.said.replaceChildren(...said(this.text, this.context(), board.labels), this.caret);
    this.paragraph = null;
    const extra = [];
    if (head.reasoning) {
      const why = el("details", "why", el("summary", "", `Reasoning, ${count(head.reasoning.length)} characters`));
      why.append(el("div", "", head.reasoning));
      extra.push(why);
    }
    if (head.problem) extra.push(el("div", "dec", el("span", "badge unres", icon("help"), "unreadable"), el("span", "xs unres", head.problem)));
    const decision = board.debate.decision(head);
    if (decision) extra.push(decision);
    this.extra.replaceChildren(...extra);
  }

  drawThought() {
    const { head } = this;
    if (head.done || !head.thinking || this.text) { if (this.thought) { this.thought.remove(); this.thought = null; } return; }
    if (!this.thought) { this.thought = el("div", "thought"); this.extra.append(this.thought); }
    put(this.thought, `thinking, ${count(head.thinking)} characters: …${head.thought}`);
  }
}

// ---- one debate: what was said, and what follows from it

class Debate {
  constructor(board, id) {
    this.board = board;
    this.id = id;
    this.document = null;
    this.context = textContext(board.labels, {});
    this.turns = new Map();
    this.views = new Map();
    this.cursors = new Map();
    this.verdict = null;
    this.disputed = new Set();
    this.glimpses = new Map();
  }

  setDocument(document) {
    this.document = document;
    this.context = textContext(this.board.labels, document.fields);
  }

  get ordered() { return [...this.turns.values()].sort((a, b) => a.turn - b.turn); }

  get evidence() { return this.ordered.flatMap((t) => (t.done ? this.evidenceOf(t) : [])); }

  // What is quoted in a choice speaks for the label that is chosen with it.
  evidenceOf(turn) {
    const chosen = this.board.kind === "choice" && (turn.labels || [])[0];
    return (turn.evidence || []).map((row) => ({ ...row, role: turn.role, item: chosen && row.item === "label" ? chosen : row.item }));
  }

  evidenceBefore(turn) { return this.ordered.filter((t) => t.turn < turn && t.done).flatMap((t) => this.evidenceOf(t)); }

  answers(turn) {
    const own = this.turns.get(turn);
    if (own && Array.isArray(own.answers)) return heardOf(own, this.board.roles);
    const before = [...new Set(this.ordered.filter((t) => t.turn < turn).map((t) => t.role))];
    const others = before.filter((role) => own && role !== own.role);
    if (!others.length) return "";
    if (own && roleColour(own.role) === "judge") return others.length === 1 ? `weighs the ${pretty(others[0]).toLowerCase()}` : others.length === 2 ? "weighs both" : "weighs all";
    if (own && roleColour(own.role) === "panelist") return "";
    return `answers the ${pretty(others[others.length - 1]).toLowerCase()}`;
  }

  lists() { return this.ordered.filter((t) => t.done && Array.isArray(t.labels)); }

  settleDisputes() {
    const stands = new Map();
    if (this.board.kind === "rating") for (const t of this.ordered) for (const [id, value] of Object.entries((t.done && t.values) || {})) {
      if (value === null) continue;
      if (!stands.has(id)) stands.set(id, new Set());
      stands.get(id).add(value);
    }
    for (const t of this.lists()) for (const id of this.board.labels.keys()) {
      if (!stands.has(id)) stands.set(id, new Set());
      stands.get(id).add(t.labels.includes(id));
    }
    this.disputed = new Set([...stands].filter(([, said]) => said.size > 1).map(([id]) => id));
  }

  decision(head) {
    const { labels, kind } = this.board;
    const row = el("div", "dec");
    const word = (text) => row.append(el("span", "t3 xs", text));
    const before = this.lists().filter((t) => t.turn < head.turn);
    const colour = roleColour(head.role);
    // Panelists and advocates answer for themselves, a judge answers everybody, others the one before.
    const alone = colour === "panelist" || colour === "advocate";
    const earlier = colour === "judge" && before.length ? { labels: [...new Set(before.flatMap((t) => t.labels))] } : before.filter((t) => !alone || t.role === head.role).pop();
    const order = [...labels.keys()];
    const by = (ids) => [...ids].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    if (kind === "rating") {
      if (!head.values) return null;
      word("rates");
      for (const id of order) if (head.values[id] !== undefined && head.values[id] !== null) row.append(tag(labelOf(labels, id), false, head.values[id]));
      return row;
    }
    if (!Array.isArray(head.labels)) return null;
    if (kind === "choice" && earlier && head.labels.length && (colour === "judge" || head.labels.join() !== earlier.labels.join())) {
      word(colour === "judge" ? "decides" : "changes to");
      row.append(tag(labelOf(labels, head.labels[0])));
      return row;
    }
    if (!earlier) {
      word(!head.labels.length ? "names no label" : kind === "choice" ? "chooses" : "names");
      for (const id of by(head.labels)) row.append(tag(labelOf(labels, id)));
      return row;
    }
    const kept = head.labels.filter((id) => earlier.labels.includes(id));
    const added = head.labels.filter((id) => !earlier.labels.includes(id));
    const dropped = earlier.labels.filter((id) => !head.labels.includes(id));
    for (const [name, ids, absent] of [[colour === "judge" ? "decides" : "keeps", kept], ["adds", added], ["drops", dropped, true]]) {
      if (!ids.length) continue;
      word(name);
      for (const id of by(ids)) row.append(tag(labelOf(labels, id), absent));
    }
    if (!row.childNodes.length) word("names no label");
    return row;
  }

  // quotes seen in a turn that is still running, located in the document
  glimpse(turn, line, context) {
    for (const mark of marksIn(line, { ...context, evidence: [] })) {
      if (mark.kind !== "quote" || !mark.place || !mark.item) continue;
      const key = `${turn}:${mark.place.field}:${mark.place.start}:${mark.item}`;
      if (!this.glimpses.has(key)) {
        this.glimpses.set(key, { turn, item: mark.item, field: mark.place.field, start: mark.place.start, end: mark.place.end });
        this.board.documentStale = true;
      }
    }
  }

  spans(field) {
    const rows = this.evidence.filter((e) => e.field === field && e.match !== "missing" && e.start >= 0);
    const text = this.document ? this.document.fields[field] : "";
    const at = /[\ud800-\udbff]/.test(text) ? (n) => [...text.slice(0, n)].length : (n) => n;
    for (const g of this.glimpses.values()) {
      const turn = this.turns.get(g.turn);
      if (g.field === field && !(turn && turn.done)) rows.push({ ...g, start: at(g.start), end: at(g.end) });
    }
    const unique = new Map(rows.map((e) => [`${e.item}:${e.start}:${e.end}`, { item: e.item, start: e.start, end: e.end, disputed: this.disputed.has(e.item) }]));
    return [...unique.values()];
  }
}

// What a debate ended in.
function ruling(verdict, labels, kind) {
  const row = el("div", "dec");
  row.style.marginTop = "0";
  if (verdict.status === "failed") row.append(el("span", "badge wrong", icon("fail"), "failed"), el("span", "wrong", verdict.fault || ""));
  else {
    const decided = verdict.status === "verdict";
    row.append(el("span", `badge ${decided ? "right" : "unres"}`, icon(decided ? "done" : "help"), decided ? "verdict" : "unresolved"));
    const ids = present(verdict.values, labels, kind);
    for (const id of ids) row.append(tag(labelOf(labels, id), false, kind === "rating" ? verdict.values[id] : undefined));
    if (!ids.length && decided) row.append(el("span", "t2", "no label"));
  }
  const nodes = [row];
  const reasons = Object.entries(verdict.reasons || {});
  if (reasons.length > 1 && reasons.every(([, why]) => why === reasons[0][1])) nodes.push(el("div", "xs unres", reasons[0][1]));
  else for (const [id, why] of reasons.slice(0, 12)) nodes.push(el("div", "xs unres", `${labels.has(id) ? labels.get(id).name + ": " : ""}${why}`));
  for (const note of verdict.notes || []) nodes.push(el("div", "xs t2", note));
  return nodes;
}
