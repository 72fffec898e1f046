import assert from "node:assert/strict";
import { test } from "node:test";
import { texts } from "./dom.js";
import { blockEnds, documentNodes, splitAtSpans, toUtf16, unsupportedQuotes } from "../../app/components/evidence.js";
import { replyNodes } from "../../app/components/reply_text.js";
import { createLabels } from "../../app/components/labels.js";
import { LABELS, makeEvidence } from "./factories.js";

const labels = createLabels(LABELS);

function draw(nodes) {
  const node = document.createElement("div");
  node.append(...nodes);
  return node;
}

test("a document that the project no longer has says so", () => {
  const [node] = documentNodes({}, [], labels, new Set());
  assert.equal(node.textContent, "The project no longer has this document.");
});

test("positions are converted from code points to UTF-16 units", () => {
  const position = toUtf16("a😀b");
  assert.deepEqual([0, 1, 2, 3, 9].map(position), [0, 1, 3, 4, 4]);
  assert.equal(toUtf16("plain")(3), 3);
});

test("overlapping spans are ordered by length", () => {
  const outer = { start: 0, end: 6 };
  const inner = { start: 2, end: 4 };
  const parts = splitAtSpans("abcdefgh", [outer, inner]);
  assert.deepEqual(
    parts.map(({ text, covering }) => [text, covering]),
    [
      ["ab", [outer]],
      ["cd", [inner, outer]],
      ["ef", [outer]],
      ["gh", []],
    ],
  );
  assert.deepEqual(parts[1].ending, [inner]);
});

test("spans outside the text are omitted", () => {
  const parts = splitAtSpans("abc", [
    { start: -1, end: 2 },
    { start: 1, end: 9 },
    { start: 2, end: 2 },
  ]);
  assert.deepEqual(
    parts.map(({ text }) => text),
    ["abc"],
  );
});

test("evidence is marked after an emoji, with the digit of its label", () => {
  const evidence = [makeEvidence("b", "rude", 2), makeEvidence("b", "rude", 2)];
  const node = draw(documentNodes({ text: "😀 rude staff" }, evidence, labels, new Set(["b"])));
  assert.deepEqual(texts(node, ".evidence"), ["rude2"]);
  assert.ok(node.querySelector(".evidence.l2.disputed"));
});

test("a passage of two labels has the colour of the argued label", () => {
  const evidence = [makeEvidence("a", "rude", 0), makeEvidence("b", "rude", 0)];
  const colour = (argued) => {
    const node = draw(documentNodes({ text: "rude staff" }, evidence, labels, new Set(), argued));
    const marked = node.querySelector(".evidence.shared");
    return [marked.className, marked.style.getPropertyValue("--other")];
  };
  assert.deepEqual(colour("a"), ["evidence l1 shared", "var(--l2)"]);
  assert.deepEqual(colour("b"), ["evidence l2 shared", "var(--l1)"]);
});

test("fields have headings if there are several", () => {
  const node = draw(documentNodes({ title: "A", text: "B" }, [], labels, new Set()));
  assert.deepEqual(texts(node, "h3"), ["title", "text"]);
});

test("quotes that are not in the text are listed once", () => {
  const missing = makeEvidence("a", "stale bread", -1);
  const node = unsupportedQuotes([missing, missing, makeEvidence("a", "x", 0)], labels);
  assert.deepEqual(texts(node, ".unsupported"), ["stale bread"]);
  assert.equal(unsupportedQuotes([], labels), null);
});

test("hostile texts are shown as text", () => {
  const text = '<img src=x onerror="alert(1)">';
  const evidence = [makeEvidence("a", "<img", 0, 0)];
  const node = draw([...documentNodes({ text }, evidence, labels, new Set()), ...replyNodes(text, labels, evidence)]);
  assert.equal(node.querySelectorAll("img").length, 0);
  assert.ok(node.textContent.includes("onerror"));
});

test("a reply shows its quotes, bold words and leading label names", () => {
  const text = 'Food: "good" and **very** cheap\n- Price - fine';
  const quotes = [makeEvidence("a", "good", 3, 7), makeEvidence("c", "fine", -1, text.indexOf("fine"))];
  const node = draw(replyNodes(text, labels, quotes));
  assert.deepEqual(texts(node, ".evidence.l1"), ["good"]);
  assert.deepEqual(texts(node, ".unsupported"), ["fine"]);
  assert.deepEqual(texts(node, "b"), ["Food:", "very", "Price"]);
});

test("label names are not used as patterns", () => {
  const odd = createLabels([{ id: "x", name: "C++ (a|b)", colour: 1 }]);
  const node = draw(replyNodes("C++ (a|b): yes", odd));
  assert.deepEqual(texts(node, "b"), ["C++ (a|b):"]);
  assert.deepEqual(texts(draw(replyNodes("no labels: here", createLabels([]))), "b"), []);
});

test("a long text is split into blocks, preferably at line ends", () => {
  const word = "x".repeat(1_000_000);
  const lines = `${"word ".repeat(400)}\n`.repeat(50);
  for (const text of [word, lines]) {
    const body = documentNodes({ text }, [makeEvidence("a", text.slice(7_990, 8_010), 7_990)], labels, new Set())[0];
    const blocks = [...body.querySelectorAll(".block")];
    assert.equal(
      blocks
        .map((block) => block.textContent)
        .join("")
        .replace(/^(.{8010})\d/s, "$1"),
      text,
    );
    assert.ok(blocks.length >= 10);
    assert.ok(blocks.every((block) => block.textContent.length <= 16_010));
  }
  assert.ok(blockEnds(lines).every((end) => lines[end - 1] === "\n"));
  assert.deepEqual(blockEnds("a short text"), []);
});

test("blocks do not cut a character in two", () => {
  for (const text of [`a${"😀".repeat(20_000)}`, `${"ก".repeat(8_000)}\u0e35\u0e48${"ก".repeat(20_000)}`]) {
    const [end] = blockEnds(text);
    assert.ok(text.slice(0, end).isWellFormed());
    assert.doesNotMatch(text.slice(end), /^\p{M}/u);
  }
});

test("kerning is off only for a text with a long word", () => {
  const classOf = (text) => documentNodes({ text }, [], labels, new Set())[0].className;
  assert.equal(classOf(`a ${"x".repeat(40)} b`), "document unkerned");
  assert.equal(classOf("word ".repeat(2000)), "document");
});

test("long replies of line breaks or bold words are drawn in linear time", () => {
  const bold = (/** @type {string} */ text) => texts(draw(replyNodes(text, labels)), "b");
  assert.equal(bold("**a** ".repeat(30_000)).length, 500); // each mark is compared with the others
  // A label name is looked for only so far after the start of a line, not after each start of a series of line breaks.
  assert.deepEqual(bold(`${" ".repeat(20)}Food: good`), ["Food:"]);
  assert.deepEqual(bold(`${" ".repeat(21)}Food: good`), []);
  assert.deepEqual(bold(`${"\n".repeat(60_000)}Food: good`), ["Food:"]);
});
