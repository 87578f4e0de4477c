// Words, numbers and names as people read them.

const WORDS = object(REPORT.words);
const UNSEEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]|\\udb40[\\udc00-\\udc7f]",
  "g",
);
const NAME_UNITS_MAX = 300;
const TITLE_UNITS_MAX = 2000;

/** Say a text of the table; {n} picks between its forms for one and for many. */
function t(key, values = {}) {
  let text = isText(WORDS[key]) ? WORDS[key] : key;
  if (text.includes("|")) text = text.split("|")[values.n === 1 || values.n === "1" ? 0 : 1];
  // Values are put in by a function: "$&" in a name means nothing.
  return text.replace(/\{(\w+)\}/g, (place, name) => {
    if (!(name in values)) return place;
    return typeof values[name] === "number" ? num(values[name]) : shown(values[name]);
  });
}

/** Give a name as one line without control and bidi characters, cut to a limit. */
function shown(value, limit = NAME_UNITS_MAX) {
  const text = (typeof value === "string" ? value : String(value ?? ""))
    .slice(0, 2 * limit + 2)
    .replace(/[\t\n\r\u0085\u2028\u2029]+/g, " ")
    .replace(UNSEEN, "");
  return text.length > limit ? text.slice(0, limit - 1).trimEnd() + "…" : text;
}

const full = (value) => shown(value, TITLE_UNITS_MAX);

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const num = (value) => (isNumber(value) ? GROUPED.format(value) : "–");

/** Write a number of tokens short: 999, 2.8K, 258K, 1.2M. */
function short(value) {
  if (!isNumber(value)) return "–";
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "K"]]) {
    if (Math.abs(value) < size) continue;
    const scaled = value / size;
    return (Math.abs(scaled) < 100 ? scaled.toFixed(1).replace(/\.0$/, "") : scaled.toFixed(0)) + unit;
  }
  return String(Math.round(value));
}

/** Write a share; only nothing is 0 %, and only all is 100 %. */
function percent(part, whole) {
  if (!isNumber(part) || !isNumber(whole) || whole <= 0) return "";
  const share = Math.round((100 * part) / whole);
  if (share === 0 && part > 0) return "<1 %";
  if (share === 100 && part < whole) return ">99 %";
  return `${num(share)} %`;
}

const fraction = (value) => (isNumber(value) ? `${(100 * value).toFixed(1)} %` : "–");

const KIND_NAMES = object(REPORT.labels);
const kindName = (kind) => shown(KIND_NAMES[kind] ?? kind);
/** Where a row's figure is known from when the row itself does not say. */
const kindSource = (kind) => (`source_${kind}` in WORDS ? t(`source_${kind}`) : t("no_source"));
const kindClass = (kind) => (ROWS.includes(kind) ? `k-${kind}` : "k-other");

/** Write a time as "2026-11-28 08:14 UTC"; what is no ISO time stays as it is. */
function when(value) {
  const parts = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::[\d.]+)?(Z|[+-]\d\d:\d\d)?$/.exec(value);
  if (!parts) return shown(value, 40);
  return `${parts[1]} ${parts[2]}${parts[3] === "Z" ? " UTC" : parts[3] ?? ""}`;
}

/** A name that may be cut at its end; the whole of it is in the title. */
function named(value, attributes = {}) {
  return h("bdi", { class: "name", title: full(value), ...attributes }, shown(value));
}

/** A path whose beginning may be cut, never its last part. */
function pathed(value) {
  const text = shown(value, TITLE_UNITS_MAX);
  const cut = text.replace(/[/\\]+$/, "").search(/[^/\\]*$/);
  return h(
    "bdi",
    { class: "path", title: full(value) },
    cut > 0 && h("span", { class: "folder" }, text.slice(0, cut)),
    h("span", { class: "leaf" }, shown(text.slice(cut))),
  );
}

/** A number with its source in the title; what is not known says so and is never 0. */
function sum(value, source, attributes = {}) {
  if (!isNumber(value)) {
    return h("span", { class: "absent", title: source && full(source), ...attributes }, t("not_known"));
  }
  return h("span", { class: "sum", title: source && full(source), ...attributes }, num(value));
}

const swatch = (kind) => h("span", { class: `swatch ${kindClass(kind)}`, "aria-hidden": "true" });

/** Facts as terms and values: [[term, value node or text, title?], ...]; null rows are left out. */
function facts(rows, attributes = {}) {
  return h(
    "dl",
    { class: "facts", ...attributes },
    rows
      .filter(Boolean)
      .map(([term, value, title]) =>
        h("div", { title: title && full(title) }, h("dt", {}, term), h("dd", {}, value)),
      ),
  );
}

/** Rows of a table, the first `limit` at once and more on demand. */
function* cutRows(rows, limit, columns, more) {
  for (const row of rows.slice(0, limit)) yield row();
  const rest = rows.slice(limit);
  if (rest.length) yield moreRow(rest, limit, columns, more);
}

function moreRow(rest, limit, columns, className = "") {
  const button = h("button", { type: "button", class: "link" }, t("show_more", { n: Math.min(rest.length, 10 * limit) }));
  const row = h("tr", { class: `more ${className}` }, h("td", { colspan: columns }, button));
  button.addEventListener("click", () => {
    const added = [...cutRows(rest, 10 * limit, columns, className)];
    row.replaceWith(...added);
    const next = added[0]?.querySelector("button, [tabindex]");
    if (next) next.focus();
  });
  return row;
}
