// One turn: what entered the context and why, usage, window, skills, sub-agents.

const SKILL_STATES = ["loaded", "reinjected", "called", "dropped", "listed"];

function turnPanel(session, select) {
  const turn = session.turns[state.turn];
  const { data, snapshot, rows } = turn;
  const file = session.data.path;
  const calls = objects(data.calls).filter((call) => !isText(call.agentId));
  return h(
    "section",
    { class: "panel turn", "aria-labelledby": "turn-title" },
    turnHead(turn, session.turns.length, select),
    h("div", { class: "columns" },
      h("div", { class: "main-column" }, h("h4", {}, t("context")), contextTable(rows, snapshot, calls, file)),
      h("div", { class: "side-column" }, turnFacts(data))),
    skillTable(skillsOf(snapshot)),
    subagentPart(objects(snapshot.subagents), objects(data.calls), file, t("subagents"), t("subagents_hint")),
  );
}

function turnHead(turn, all, select) {
  const { data } = turn;
  const go = (step, name, sign) =>
    h("button", {
      type: "button", class: "step", "aria-label": t(name), title: t(name),
      disabled: turn.at + step < 0 || turn.at + step >= all,
      on: { click: () => { select(turn.at + step); stepButton(name)?.focus(); } },
      "data-step": name,
    }, sign);
  const told = [
    isText(data.startedAt) && when(data.startedAt),
    isNumber(data.line) && data.line > 0 && t("line", { n: data.line }),
    isText(data.outcome) && (`outcome_${data.outcome}` in WORDS ? t(`outcome_${data.outcome}`) : shown(data.outcome)),
    isNumber(data.promptUnits) && t("prompt_of", { n: data.promptUnits }),
    typeof data.fromHuman === "boolean" && t(data.fromHuman ? "from_human" : "from_program"),
  ].filter(Boolean);
  return h("header", { class: "turn-head" },
    h("h3", { id: "turn-title", tabindex: "-1" }, t("turn_of", { n: turn.at + 1, all })),
    h("div", { class: "steps" }, go(-1, "previous", "‹"), go(1, "next", "›")),
    h("p", { class: "quiet", title: full(data.turnId) }, told.join(" · ")));
}

const stepButton = (name) => document.querySelector(`.step[data-step="${name}"]:not([disabled])`);

function turnFacts(data) {
  return [
    usagePart(object(data.usage), t("usage_source")),
    windowPart(object(data.window)),
    reconciliationPart(object(data.reconciliation ?? object(data.snapshot).reconciliation)),
  ];
}

function usagePart(usage, source) {
  const known = ["input", "cacheRead", "cacheCreation", "output", "messages"].filter((key) => isNumber(usage[key]));
  if (!known.length) return h("div", {}, h("h4", {}, t("usage")), h("p", { class: "absent" }, t("not_known")));
  return h("div", {},
    h("h4", {}, t("usage")),
    facts(known.map((key) => [t(key), sum(usage[key], source), source])),
    usage.partial && h("p", { class: "caution" }, t("partial")),
    usage.inherited && h("p", { class: "caution" }, t("inherited")));
}

function windowPart(window) {
  if (!isNumber(window.used) && !isNumber(window.tokens)) return null;
  const source = isText(window.source) ? window.source : t("no_source");
  const usedSource = isText(window.usedSource) ? window.usedSource : source;
  const full = isNumber(window.ratio) && isNumber(window.tokens) ? clamp(window.ratio, 0, 1) : null;
  const sources = new Set([isNumber(window.used) && usedSource, isNumber(window.tokens) && source].filter(Boolean));
  return h("div", {},
    h("h4", {}, t("window")),
    full !== null && h("div", { class: `gauge${window.stale ? " stale" : ""}`, "aria-hidden": "true" }, gaugeBar(full)),
    facts([
      isNumber(window.used) && [t("used"), sum(window.used, usedSource), usedSource],
      isNumber(window.tokens) && [t("window_tokens"), sum(window.tokens, source), source],
      full !== null && [t("ratio"), fraction(window.ratio), source],
      isNumber(window.remaining) && [t("remaining"), sum(window.remaining, source), source],
      [t("source"), h("span", { class: "source" }, shown([...sources].join(" + ")))],
    ]),
    window.stale && h("p", { class: "caution" }, t("stale")));
}

function gaugeBar(part) {
  const bar = h("span");
  bar.style.width = `${100 * part}%`;
  return bar;
}

function reconciliationPart(told) {
  if (!isNumber(told.input)) return null;
  const source = t("recon_source");
  return h("div", {},
    h("h4", {}, t("reconciliation")),
    facts([
      [t("recon_input"), sum(told.input, source), source],
      [t("recon_kinds"), sum(told.kinds, source), source],
      [t("remainder"), sum(told.remainder, source), source],
    ]),
    told.overcount && h("p", { class: "caution" }, t("overcount")));
}

/** The states of skills; what the listing names and nothing else tells of was only listed. */
function skillsOf(snapshot) {
  const told = objects(snapshot.skillStates);
  const names = new Set(told.map((skill) => skill.name));
  const listed = object(snapshot.available).skills;
  const only = (Array.isArray(listed) ? listed : []).filter((name) => isText(name) && !names.has(name));
  return [...told, ...only.map((name) => ({ name, state: "listed" }))];
}

/** Skills by what became of them; those that were only listed are counted first. */
function skillTable(skills) {
  if (!skills.length) return null;
  const byName = new Map();
  for (const skill of skills) byName.set(skill.name, [...(byName.get(skill.name) ?? []), skill]);
  const groups = [...byName.values()];
  const listed = groups.filter((group) => group.every((skill) => skill.state === "listed"));
  const used = groups.filter((group) => !listed.includes(group));
  const rank = (group) => Math.min(...group.map((skill) => (SKILL_STATES.indexOf(skill.state) + 1 || 9)));
  used.sort((one, other) => rank(one) - rank(other));
  const table = (rows) =>
    h("div", { class: "scroll" }, h("table", { class: "grid" },
      h("thead", {}, h("tr", {},
        h("th", { scope: "col" }, t("name")), h("th", { scope: "col" }, t("state")),
        h("th", { scope: "col", class: "n" }, t("tokens")), h("th", { scope: "col" }, t("source")))),
      h("tbody", {}, [...cutRows(rows.map((group) => () => skillRow(group)), 50, 4)])));
  return h("div", { class: "part" },
    h("h4", {}, t("skills")),
    used.length > 0 && table(used),
    listed.length > 0 && lazyDetails(t("only_listed", { n: listed.length }), () => table(listed)));
}

function skillRow(group) {
  const one = group.find((skill) => isNumber(skill.tokens)) ?? group[0];
  const source = group.map((skill) => skill.source).find(isText);
  const notes = group.map((skill) => skill.note).filter(isText);
  const entered = group.some((skill) => skill.state === "loaded" || skill.state === "reinjected");
  return h("tr", {},
    h("th", { scope: "row" }, named(group[0].name)),
    h("td", {}, group.map((skill) => h("span", { class: `state state-${SKILL_STATES.includes(skill.state) ? skill.state : "other"}` }, stateName(skill.state)))),
    h("td", { class: "n" }, isNumber(one.tokens) || entered ? sum(one.tokens, source ?? t("no_source")) : ""),
    h("td", { class: "from" },
      source ? pathed(source) : h("span", { class: "source" }, t("no_source")),
      notes.map((note) => h("span", { class: "note" }, shown(note)))));
}

const stateName = (name) => (`state_${name}` in WORDS ? t(`state_${name}`) : shown(name));

/** Sub-agents, each with its own entries, usage and calls. */
function subagentPart(agents, calls, file, title, hint) {
  if (!agents.length) return null;
  const one = (agent) => {
    const entries = object(agent.entries);
    const rows = Object.keys(entries).filter((kind) => isNumber(object(entries[kind]).tokens))
      .map((kind) => ({ kind, ...entries[kind] }));
    const usage = object(agent.usage);
    const told = ["input", "cacheRead", "cacheCreation", "output"].filter((key) => isNumber(usage[key]));
    const own = calls.filter((call) => call.agentId === agent.agentId);
    return lazyDetails(
      [named(agent.agentId), " ", h("span", { class: "quiet" },
        rows.length ? t("n_tokens", { n: rows.reduce((all, row) => all + row.tokens, 0) }) : t("nothing_entered"),
        told.map((key) => h("span", { title: t("usage_source") }, ` · ${t(key)} ${num(usage[key])}`)))],
      () => contextTable(rows, agent, own, file),
      { class: "agent" });
  };
  return h("div", { class: "part" }, h("h4", {}, title), hint && h("p", { class: "quiet" }, hint), agents.slice(0, 200).map(one),
    agents.length > 200 && h("p", { class: "quiet" }, t("n_more", { n: agents.length - 200 })));
}
