// The sums over everything: the figures at the top, and tables by what put the tokens there.

const TOTAL_TABLES = {  // Key of `totals`: its columns beside the name and the share.
  byTool: ["calls", "tokens"],
  bySkill: ["loads", "tokens"],
  byMcpServer: ["calls", "tokens"],
  byRule: ["tokens"],
  bySubagent: ["calls", "tokens"],
};
const TOTAL_ROWS = 25;

function totalsHead() {
  const totals = object(REPORT.totals);
  const parts = ["input", "cacheRead", "cacheCreation", "output"];
  const known = parts.filter((key) => isNumber(totals[key]));
  const whole = known.reduce((all, key) => all + totals[key], 0);
  const figure = (key, value, source, small) =>
    h("div", { class: "figure", title: source },
      h("dt", {}, t(key)), h("dd", {}, sum(value, source)), small && h("dd", { class: "small" }, small));
  const usage = totals.messages === 0
    ? h("div", { class: "figure" }, h("dt", {}, t("usage")), h("dd", { class: "small" }, t("no_usage")))
    : parts.map((key) => figure(key, totals[key], t("usage_source"), isNumber(totals[key]) && whole ? t("of_all", { share: percent(totals[key], whole) }) : null));
  return h("dl", { class: "totals", "aria-label": t("totals") },
    usage,
    totals.messages !== 0 && figure("messages", totals.messages, t("usage_source")),
    figure("files", REPORT.files, t("files_source")),
    figure("unreadableLines", REPORT.unreadableLines, t("files_source")));
}

function notesPart() {
  const notes = list(REPORT.notes).filter(isText);
  if (!notes.length) return null;
  return h("details", { class: "notes" },
    h("summary", {}, t("n_notes", { n: notes.length })),
    h("ul", {}, notes.slice(0, 500).map((note) => h("li", {}, shown(note, 600)))));
}

/** The tables, one tab each; on paper all of them. */
function totalsPanel() {
  const keys = Object.keys(TOTAL_TABLES).filter((key) => REPORT.totals && key in REPORT.totals);
  if (!keys.length) return null;
  const tabs = keys.map((key, at) => h("button", {
    type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `tabpanel-${key}`,
    "aria-selected": String(at === 0), tabindex: at === 0 ? "0" : "-1",
  }, t(key), " ", h("span", { class: "count" }, num(Object.keys(object(REPORT.totals[key])).length))));
  const panels = keys.map((key, at) => h("div", {
    role: "tabpanel", id: `tabpanel-${key}`, "aria-labelledby": `tab-${key}`, hidden: at !== 0,
  }, h("h4", {}, t(`title_${key}`)), totalTable(key)));
  const pick = (at, focus) => {
    for (const [place, tab] of tabs.entries()) {
      tab.setAttribute("aria-selected", String(place === at));
      tab.tabIndex = place === at ? 0 : -1;
      panels[place].hidden = place !== at;
    }
    if (focus) tabs[at].focus();
  };
  for (const [at, tab] of tabs.entries()) tab.addEventListener("click", () => pick(at));
  const bar = h("div", { role: "tablist", class: "tabs", "aria-label": t("by") }, tabs);
  bar.addEventListener("keydown", (event) => {
    const place = moved(event.key, tabs.indexOf(document.activeElement), tabs.length - 1, 1);
    if (place === null) return;
    event.preventDefault();
    pick(place, true);
  });
  return h("section", { class: "panel", "aria-labelledby": "totals-title" },
    h("h3", { id: "totals-title" }, t("by")), h("p", { class: "quiet" }, t("by_scope")), bar, panels);
}

function totalTable(key) {
  const rows = Object.entries(object(REPORT.totals[key])).map(([name, value]) => ({ name, ...object(value) }));
  if (!rows.length) return h("p", { class: "quiet" }, t("nothing_here"));
  const columns = ["name", ...TOTAL_TABLES[key]];
  const whole = rows.reduce((all, row) => all + (isNumber(row.tokens) ? row.tokens : 0), 0);
  const most = Math.max(1, ...rows.map((row) => (isNumber(row.tokens) ? row.tokens : 0)));
  const body = h("tbody");
  const order = { column: "tokens", down: true };
  const heads = columns.map((column) => {
    const name = column === "name" && key === "byRule" ? t("path") : t(column);
    const button = h("button", { type: "button", class: "sort" }, name);
    const head = h("th", { scope: "col", class: column === "name" ? "" : "n" }, button);
    button.addEventListener("click", () => {
      order.down = order.column === column ? !order.down : column !== "name";
      order.column = column;
      fillBody();
    });
    return head;
  });
  const fillBody = () => {
    for (const [at, head] of heads.entries()) {
      if (columns[at] === order.column) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    const sorted = rows.toSorted((one, other) => compared(one, other, order.column) * (order.down ? -1 : 1));
    body.replaceChildren(...cutRows(sorted.map((row) => () => totalRow(key, row, columns, whole, most)), TOTAL_ROWS, columns.length + 2));
  };
  fillBody();
  return h("div", { class: "scroll" }, h("table", { class: `grid totals-table ${key}` },
    h("thead", {}, h("tr", {}, heads, h("th", { scope: "col", class: "n" }, t("share")), h("th", { scope: "col" }, t("source")))),
    body));
}

/** Order by a column; what is not known stands below every number. */
function compared(one, other, column) {
  if (column === "name") return one.name < other.name ? -1 : Number(one.name > other.name);
  const value = (row) => (isNumber(row[column]) ? row[column] : -1);
  return value(one) - value(other) || (one.name < other.name ? 1 : -1);
}

function totalRow(key, row, columns, whole, most) {
  const source = isText(row.source) ? row.source : t(`source_${key}`);
  const bar = h("span", { class: "bar", "aria-hidden": "true" });
  bar.style.width = isNumber(row.tokens) ? `${(100 * row.tokens) / most}%` : "0";
  return h("tr", {},
    columns.map((column) =>
      column === "name"
        ? h("th", { scope: "row" }, key === "byRule" ? pathed(row.name) : named(row.name))
        : h("td", { class: "n" }, key === "byMcpServer" && column === "calls" && !row.calls && row.tokens > 0
          ? h("span", { class: "absent" }, t("only_instructions")) : sum(row[column], source))),
    h("td", { class: "n share" }, h("span", { class: "track" }, bar), h("span", {}, percent(row.tokens, whole))),
    h("td", { class: "from" }, isText(row.source) ? pathed(source) : h("span", { class: "source" }, source)));
}
