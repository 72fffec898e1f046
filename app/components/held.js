// A debate that has been held: its turns and what it ended in, as nodes. data = {document, events, labels, roles, kind, hidden}
function heldDebate(data) {
  const board = { labels: labelBook(data.labels), roles: roleBook(data.roles), kind: data.kind, playing: null, documentStale: false };
  const debate = (board.debate = new Debate(board, data.document.id));
  debate.setDocument(data.document);
  for (const event of data.events) {
    if (event.kind === "turn") debate.turns.set(event.turn, normal(event, data.kind));
    else if (event.kind === "verdict") debate.verdict = event;
  }
  debate.settleDisputes();
  const nodes = [];
  for (const event of debate.ordered) {
    if (data.hidden && data.hidden.includes(event.role)) continue;
    const view = new TurnView(board);
    view.text = event.text;
    view.said.classList.toggle("raw", /^\s*[{[]|^\s*```/.test(event.text));
    view.setHead(event);
    nodes.push(view.node);
  }
  if (debate.verdict) nodes.push(el("div", "ruling", ...ruling(debate.verdict, board.labels, board.kind)));
  return nodes;
}
