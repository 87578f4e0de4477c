// The page: its head, the list of sessions, and the session that is open.

const SESSIONS_AT_ONCE = 150;
const FRAGMENT_DELAY_MS = 200;
const SESSIONS = objects(REPORT.sessions);
const NEWEST_FIRST = SESSIONS.map((_, at) => at).sort((one, other) => {
  const started = (at) => (isText(SESSIONS[at].startedAt) ? SESSIONS[at].startedAt : "");
  return started(one) < started(other) ? 1 : started(one) > started(other) ? -1 : one - other;
});

function start() {
  readFragment();
  const page = document.getElementById("page");
  const view = h("main", { id: "session", tabindex: "-1" });
  const several = SESSIONS.length > 1;
  const openSession = (at) => {
    Object.assign(state, { session: at, turn: lastTurn(at) });
    showSession(view);
    writeFragment();
  };
  page.append(
    h("a", { class: "skip", href: "#", on: { click: (event) => { event.preventDefault(); view.focus(); } } }, t("skip")),
    pageHead(),
    h("div", { class: several ? "body" : "body single" }, several && picker(openSession), view),
  );
  showSession(view);
  addEventListener("hashchange", () => {
    const before = state.session;
    readFragment();
    if (state.session === before && view.select) view.select(state.turn);
    else showSession(view);
    for (const entry of document.querySelectorAll(".session-list button")) mark(entry);
  });
  document.documentElement.dataset.ready = "yes";
}

function pageHead() {
  const turns = SESSIONS.reduce((all, one) => all + (isNumber(one.turns) ? one.turns : 0), 0);
  const told = [t("n_sessions", { n: SESSIONS.length }), t("n_turns", { n: turns })];
  return h("header", { class: "page-head" },
    h("div", { class: "title-row" },
      h("div", {}, h("h1", {}, t("title")), h("p", { class: "quiet" }, told.join(" · "))),
      choice(t("theme"), [["auto", t("theme_auto")], ["light", t("theme_light")], ["dark", t("theme_dark")]], "auto", (theme) => {
        if (theme === "auto") delete document.documentElement.dataset.theme;
        else document.documentElement.dataset.theme = theme;
      })),
    totalsHead(),
    notesPart());
}

/** The sessions, newest first; typing narrows the list. */
function picker(open) {
  const entries = h("ul", { class: "session-list" });
  const search = h("input", { type: "search", placeholder: t("search"), "aria-label": t("search") });
  const texts = SESSIONS.map((one) => [one.sessionId, one.cwd, one.path, one.runtime, one.model, one.startedAt, one.shortId].filter(isText).join("\n").toLowerCase());
  const show = (limit) => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = NEWEST_FIRST.filter((at) => words.every((word) => texts[at].includes(word)));
    entries.replaceChildren(...found.slice(0, limit).map((at) => h("li", {}, sessionButton(at, open))));
    if (!found.length) entries.append(h("li", { class: "quiet" }, t("none_found")));
    if (found.length > limit) {
      const more = h("button", { type: "button", class: "link" }, t("n_more", { n: found.length - limit }));
      more.addEventListener("click", () => {
        show(limit * 4);
        entries.querySelectorAll("button")[limit]?.focus();
      });
      entries.append(h("li", {}, more));
    }
  };
  search.addEventListener("input", () => show(SESSIONS_AT_ONCE));
  const nav = h("nav", { class: "picker", "aria-label": t("sessions") }, h("h2", {}, t("sessions")), search, entries);
  nav.addEventListener("keydown", (event) => {
    const stops = [search, ...entries.querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    stops[clamp(stops.indexOf(document.activeElement) + step, 0, stops.length - 1)].focus();
  });
  show(Math.max(SESSIONS_AT_ONCE, NEWEST_FIRST.indexOf(state.session) + 1));
  return nav;
}

function sessionButton(at, open) {
  const one = SESSIONS[at];
  const button = h("button", { type: "button", "data-at": at, title: full(one.path ?? one.sessionId) },
    h("span", { class: "session-name" }, h("bdi", {}, sessionName(one)),
      isText(one.shortId) && isText(one.cwd) && h("bdi", { class: "session-id" }, shown(one.shortId, 120))),
    h("span", { class: "session-told" },
      [isText(one.startedAt) && when(one.startedAt).slice(0, 16), t("n_turns", { n: one.turns ?? 0 }), isNumber(one.tokens) && short(one.tokens)].filter(Boolean).join(" · ")));
  mark(button);
  button.addEventListener("click", () => {
    open(at);
    for (const entry of document.querySelectorAll(".session-list button")) mark(entry);
  });
  return button;
}

function mark(button) {
  if (button.dataset.at === String(state.session)) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
}

/** The last part of a session's folder, else its id. */
function sessionName(one) {
  const folder = isText(one.cwd) ? one.cwd.replace(/[/\\]+$/, "").split(/[/\\]/).pop() : "";
  return shown(folder || one.sessionId || t("session"), 80);
}

function showSession(view) {
  if (!SESSIONS.length) {
    view.replaceChildren(h("p", { class: "quiet" }, t("no_sessions")), totalsPanel() ?? "");
    return;
  }
  const open = session(state.session);
  state.turn = clamp(state.turn, 0, Math.max(0, open.turns.length - 1));
  if (!open.turns.length) {
    view.select = null;
    view.replaceChildren(sessionHead(open.data), h("p", { class: "quiet" }, t("no_turns")), totalsPanel() ?? "");
    return;
  }
  const select = (turn) => {
    state.turn = clamp(turn, 0, open.turns.length - 1);
    strip.show();
    for (const [name, make] of [["turn", turnPanel], ["request", requestPanel]]) {
      const fresh = make(open, select);
      panels[name].replaceWith(fresh);
      panels[name] = fresh;
    }
    fill.show?.();
    writeFragment();
  };
  view.select = select;
  const strip = turnStrip(open.turns, select);
  const fill = fillPanel(open, select);
  const panels = { turn: turnPanel(open, select), request: requestPanel(open, select) };
  view.replaceChildren(
    sessionHead(open.data),
    h("section", { class: "panel", "aria-labelledby": "turns-title" },
      h("header", { class: "turns-head" }, h("h3", { id: "turns-title" }, t("turns")), strip.scale),
      h("p", { class: "quiet" }, t("turns_hint")),
      strip.legend, strip.figure, turnTable(open.turns, select)),
    panels.turn, panels.request, fill,
    ...[sessionParts(open.data), totalsPanel()].filter(Boolean));
}

function sessionHead(data) {
  const runtime = [data.runtime, data.version].filter(isText).map((part) => shown(part)).join(" ");
  return h("header", { class: "session-head" },
    h("h2", {}, h("bdi", {}, sessionName(data))),
    facts([
      isText(data.sessionId) && [t("session"), named(data.sessionId, { class: "name mono" })],
      runtime && [t("runtime"), runtime],
      isText(data.model) && [t("model"), named(data.model)],
      isText(data.startedAt) && [t("started"), when(data.startedAt)],
      isText(data.endedAt) && [t("ended"), when(data.endedAt)],
      isText(data.cwd) && [t("folder"), pathed(data.cwd)],
      isText(data.path) && [t("file"), pathed(data.path)],
    ], { class: "facts inline" }));
}

function sessionParts(data) {
  const agents = subagentPart(objects(data.subagents), [], data.path, t("subagents_session"), t("subagents_hint"));
  const estimator = estimatorPart(object(data.estimator));
  if (!agents && !estimator) return null;
  return h("section", { class: "panel" }, agents, estimator);
}

function estimatorPart(told) {
  if (!isNumber(told.samples)) return null;
  const hint = t("estimator_hint");
  return h("div", { class: "part" }, h("h4", {}, t("estimator")), h("p", { class: "quiet" }, hint), facts([
    [t("samples"), num(told.samples), hint],
    isNumber(told.median) && [t("median"), fraction(told.median), hint],
    isNumber(told.p90) && [t("p90"), fraction(told.p90), hint],
  ], { class: "facts inline" }),
  h("p", {}, [
    isNumber(told.ratio) && t("est_ratio", { n: ratio(told.ratio) }),
    isNumber(told.wideRatio) && t("est_wide", { n: ratio(told.wideRatio) }),
  ].filter(Boolean).join(" ")));
}

const ratio = (value) => String(Number(value.toFixed(value < 0.1 ? 3 : value < 1 ? 2 : 1)));

const lastTurn = (at) => Math.max(0, (isNumber(SESSIONS[at]?.turns) ? SESSIONS[at].turns : 1) - 1);

/** The fragment #s=0&t=3 names a session and a turn, both counted from 0. */
function readFragment() {
  const told = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^\d{1,9}$/.test(told.get(name) ?? "") ? Number(told.get(name)) : null);
  state.session = clamp(number("s") ?? NEWEST_FIRST[0] ?? 0, 0, Math.max(0, SESSIONS.length - 1));
  state.turn = clamp(number("t") ?? lastTurn(state.session), 0, lastTurn(state.session));
}

/** Write it a moment later: browsers refuse a page that does so at each step of a held key. */
let writing = 0;

function writeFragment() {
  clearTimeout(writing);
  writing = setTimeout(() => history.replaceState(null, "", `#s=${state.session}&t=${state.turn}`), FRAGMENT_DELAY_MS);
}

start();
