// A session as the pictures need it: turns with their sums, requests in one row.

/** Read a session's block once; give its turns ready to draw. */
const opened = new Map();

function session(at) {
  if (!opened.has(at)) {
    const data = block(`session-${at}`);
    const turns = objects(data.turns).map(turnOf);
    opened.set(at, { data, turns, steps: steps(turns) });
  }
  return opened.get(at);
}

function turnOf(data, at) {
  const rows = objects(data.rows).filter((row) => isNumber(row.tokens) && row.tokens > 0);
  const byKind = new Map();
  for (const row of rows) byKind.set(row.kind, (byKind.get(row.kind) ?? 0) + row.tokens);
  return { at, data, rows, byKind, snapshot: object(data.snapshot) };
}

/** What a turn comes to, without the kinds that are hidden. */
function shownSum(turn) {
  let whole = 0;
  for (const [kind, tokens] of turn.byKind) if (!state.hidden.has(kind)) whole += tokens;
  return whole;
}

/** The kinds of all turns in their order; kinds that are not ours come last. */
function kindsOf(turns) {
  const found = new Set(turns.flatMap((turn) => [...turn.byKind.keys()]));
  return [...ROWS.filter((kind) => found.has(kind)), ...[...found].filter((kind) => !ROWS.includes(kind))];
}

/**
 * All requests and compactions of a session in their order: {kind, turn, used?, ...}.
 * Without requests a turn's own window figure stands for it; `coarse` says so.
 */
function steps(turns) {
  const told = turns.some((turn) => objects(turn.data.requests).some((one) => isNumber(one.used)));
  const found = [];
  for (const turn of turns) {
    const requests = told ? objects(turn.data.requests).filter((one) => isNumber(one.used)) : fill(turn);
    const compactions = objects(turn.data.compactions);
    const here = [
      ...requests.map((one) => ({ ...one, kind: "request", turn: turn.at })),
      ...compactions.map((one) => ({ ...one, kind: "compaction", turn: turn.at })),
    ];
    const ordered = here.every((one) => isNumber(one.line));
    found.push(...(ordered ? here.sort((one, other) => one.line - other.line) : here));
  }
  found.coarse = !told;
  return found;
}

function fill(turn) {
  const window = object(turn.data.window);
  return isNumber(window.used) ? [{ used: window.used, source: window.usedSource ?? window.source, coarse: true }] : [];
}

/** The last size of the window that a turn up to this one told, or null. */
function windowSize(turns) {
  for (let at = turns.length - 1; at >= 0; at -= 1) {
    const window = object(turns[at].data.window);
    if (isNumber(window.tokens) && window.tokens > 0) return { tokens: window.tokens, source: window.source };
  }
  return null;
}
