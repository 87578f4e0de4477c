// What entered a context, as a table that opens: kind, then what put it there, then each call.

const ROWS_AT_ONCE = 100;
const TREE_COLUMNS = 4;

/**
 * The table of one context. `rows` are {kind, tokens, share?, source?, detail?}; `snapshot` holds
 * entries, unsupported and unknown; `calls` are those of this context; `file` names the recording.
 */
function contextTable(rows, snapshot, calls, file) {
  const whole = rows.reduce((all, row) => all + row.tokens, 0);
  const entries = object(snapshot.entries);
  const lines = [];
  for (const kind of allKinds(rows, snapshot)) {
    const row = rows.find((one) => one.kind === kind);
    const unknown = objects(snapshot.unknown).filter((one) => one.kind === kind);
    const own = calls.filter((call) => call.kind === kind);
    if (row) lines.push(...kindRow(row, object(entries[kind]), own, whole, file));
    else if (list(snapshot.unsupported).includes(kind)) lines.push(absentRow(kind, t("unsupported"), t("unsupported_why")));
    else if (unknown.length) lines.push(absentRow(kind, t("unknown"), ""));
    lines.push(...unknown.map((one) => unknownRow(one)));
  }
  if (!lines.length) return h("p", { class: "quiet" }, t("nothing_entered"));
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "tree" },
      columns("kind", "tokens", "share", "rest"),
      h("thead", {}, h("tr", {},
        h("th", { scope: "col" }, t("kind")),
        h("th", { scope: "col", class: "n" }, t("tokens")),
        h("th", { scope: "col", class: "n", title: t("share_source") }, t("share")),
        h("th", { scope: "col" }, t("detail_and_source")))),
      h("tbody", {}, lines),
      whole > 0 && h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, t("total")), h("td", { class: "n" }, num(whole)), h("td"), h("td"))),
    ),
  );
}

/** Widths of columns, by the names of their classes. */
const columns = (...names) => h("colgroup", {}, names.map((name) => h("col", { class: `col-${name}` })));

function allKinds(rows, snapshot) {
  const found = new Set([
    ...rows.map((row) => row.kind),
    ...list(snapshot.unsupported).filter(isText),
    ...objects(snapshot.unknown).map((one) => one.kind),
  ]);
  return [...ROWS.filter((kind) => found.has(kind)), ...[...found].filter((kind) => !ROWS.includes(kind))];
}

function kindRow(row, entry, calls, whole, file) {
  const items = objects(entry.items);
  const source = row.source ?? entry.source ?? kindSource(row.kind);
  const detail = row.detail ?? entry.detail;
  const line = h(
    "tr",
    { class: "kind" },
    h("th", { scope: "row" }, h("span", { class: "toggle-room" }), swatch(row.kind), isText(row.label) ? shown(row.label) : kindName(row.kind)),
    h("td", { class: "n" }, sum(row.tokens, source)),
    h("td", { class: "n share" }, percent(row.tokens, whole)),
    h("td", { class: "from" },
      isText(detail) && h("div", { class: "detail", title: full(detail) }, shown(detail)),
      h("div", { class: "source", title: full(source) }, shown(source)),
      isNumber(entry.calibrated) && h("div", { class: "source" }, t("calibrated", { n: entry.calibrated }))),
  );
  const left = new Set(calls);
  const children = () => [
    ...cutRows(items.map((item) => () => itemRow(item, row, left, calls, file)), ROWS_AT_ONCE, TREE_COLUMNS, "level-1"),
    ...otherCalls([...left], items, file),
  ];
  if (items.length || calls.length) opens(line, shown(row.label ?? kindName(row.kind)), () => children().flat());
  return [line];
}

/** A row of an entry's item; the calls that it opens are those of its group. */
function itemRow(item, row, left, calls, file) {
  const own = calls.filter((call) => call.group === item.name);
  for (const call of own) left.delete(call);
  const source = isText(item.source) ? item.source : null;
  const line = h(
    "tr",
    { class: "level-1" },
    h("th", { scope: "row" }, h("span", { class: "toggle-room" }), itemName(row.kind, item.name)),
    h("td", { class: "n" }, sum(item.tokens, source ?? row.source ?? t("no_source"))),
    h("td", { class: "n share" }, percent(item.tokens, row.tokens)),
    h("td", { class: "from" },
      row.kind === "mcp" && !item.calls && item.tokens > 0
        ? h("span", { class: "count" }, t("only_instructions"))
        : isNumber(item.calls) && h("span", { class: "count" }, t("n_calls", { n: item.calls })),
      source && source !== item.name && h("span", { class: "source", title: full(source) }, shown(source)),
      isText(item.note) && h("span", { class: "note" }, shown(item.note))),
  );
  if (own.length) opens(line, shown(item.name), () => callRows(own, file));
  return line;
}

const itemName = (kind, name) => (kind === "rules" || kind === "files_attachments" ? pathed(name) : named(name));

function otherCalls(calls, items, file) {
  if (!calls.length) return [];
  if (!items.length) return callRows(calls, file);
  const line = h("tr", { class: "level-1" },
    h("th", { scope: "row" }, h("span", { class: "toggle-room" }), t("other_calls")),
    h("td", { class: "n" }), h("td"), h("td", { class: "from" }, h("span", { class: "count" }, t("n_calls", { n: calls.length }))));
  opens(line, t("other_calls"), () => callRows(calls, file));
  return [line];
}

function callRows(calls, file) {
  return [...cutRows(calls.map((call) => () => callRow(call, file)), ROWS_AT_ONCE, TREE_COLUMNS, "level-2")];
}

function callRow(call, file) {
  const place = isNumber(call.line) && call.line > 0 ? t("line", { n: call.line }) : t("not_known");
  const title = [t("call_source"), full(file ?? ""), place, full(call.id ?? "")].filter(isText).join("\n");
  return h(
    "tr",
    { class: "level-2" },
    h("th", { scope: "row" }, h("span", { class: "toggle-room" }), named(call.name ?? t("call"))),
    h("td", { class: "n" }, sum(call.tokens, title)),
    h("td"),
    h("td", { class: "from", title },
      h("span", { class: "count" }, place),
      call.isError === true && h("span", { class: "bad" }, t("failed_call")),
      isText(call.agentId) && h("span", { class: "note" }, t("by_agent", { id: call.agentId })),
      isText(call.id) && h("span", { class: "source mono" }, shown(call.id))),
  );
}

function absentRow(kind, word, why) {
  return h("tr", { class: "kind" },
    h("th", { scope: "row" }, h("span", { class: "toggle-room" }), swatch(kind), kindName(kind)),
    h("td", { class: "n" }, h("span", { class: "absent" }, word)),
    h("td"),
    h("td", { class: "from" }, h("div", { class: "source" }, why)));
}

function unknownRow(one) {
  return h("tr", { class: "level-1" },
    h("th", { scope: "row" }, h("span", { class: "toggle-room" }), named(one.name)),
    h("td", { class: "n" }, h("span", { class: "absent" }, t("unknown"))),
    h("td"),
    h("td", { class: "from" }, h("span", { class: "note", title: full(one.reason) }, shown(one.reason))));
}

/** Let a row open to further rows below it, made when they are first wanted. */
function opens(row, name, make) {
  const button = h("button", { type: "button", class: "toggle", "aria-expanded": "false", "aria-label": t("open", { name }) });
  let made = null;
  const turn = (open) => {
    button.setAttribute("aria-expanded", String(open));
    if (open && !made) made = make();
    if (open) row.after(...made);
    else close(made);
  };
  button.addEventListener("click", () => turn(button.getAttribute("aria-expanded") !== "true"));
  row.querySelector(".toggle-room").replaceWith(button);
  row.firstChild.addEventListener("click", (event) => {
    if (event.target !== button && !getSelection().toString()) button.click();
  });
  row.classList.add("opens");
}

function close(rows) {
  for (const row of rows ?? []) {
    row.querySelector('.toggle[aria-expanded="true"]')?.click();
    row.remove();
  }
}
