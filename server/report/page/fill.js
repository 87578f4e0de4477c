// How full the window was at each request, as steps; compactions are marked.

const FILL = { height: 190, left: 46, top: 22, bottom: 22 };
const TOPPED_COMPACTIONS = 40; // More than these are marked above the chart only.

function fillPanel(session, select) {
  const panel = h("section", { class: "panel", "aria-labelledby": "fill-title" }, h("h3", { id: "fill-title" }, t("fill")));
  const steps = session.steps;
  if (!steps.some((step) => isNumber(step.used))) {
    add(panel, [h("p", { class: "quiet" }, t("no_fill"))]);
    return panel;
  }
  const size = windowSize(session.turns);
  const hints = [t("fill_hint"), steps.coarse && t("fill_per_turn"), !size && t("window_unknown")].filter(Boolean);
  const chart = fillChart(steps, size, select);
  add(panel, [h("p", { class: "quiet" }, hints.join(" ")), chart.figure, fillTable(steps, size)]);
  panel.show = chart.show;
  return panel;
}

function fillChart(steps, size, select) {
  const svg = s("svg", { class: "steps-chart", "aria-hidden": "true", focusable: "false" });
  const view = { width: 0, at: lastOf(steps, state.turn) };
  const readout = h("p", { class: "readout", "aria-hidden": "true" });
  const slider = h("div", {
    class: "slider", role: "slider", tabindex: "0", "aria-label": t("fill"), "aria-orientation": "horizontal",
    "aria-valuemin": 1, "aria-valuemax": steps.length,
  }, svg);
  const figure = h("div", { class: "fill-chart" }, slider, readout);
  const draw = () => {
    if (view.width < 80) return;
    drawFill(svg, steps, size, view);
  };
  const point = () => {
    const told = stepTold(steps, view.at, size);
    readout.replaceChildren(...told.map((text, at) => h(at ? "span" : "strong", {}, text)));
    slider.setAttribute("aria-valuenow", view.at + 1);
    slider.setAttribute("aria-valuetext", told.join(", "));
    svg.querySelector(".pointer")?.replaceWith(pointer(view, steps, size));
  };
  const at = (event) => {
    const room = view.width - FILL.left;
    const part = (event.clientX - svg.getBoundingClientRect().left - FILL.left) / room;
    return clamp(Math.floor(part * steps.length), 0, steps.length - 1);
  };
  slider.addEventListener("pointermove", (event) => {
    view.at = at(event);
    point();
  });
  slider.addEventListener("pointerleave", () => {
    view.at = lastOf(steps, state.turn);
    point();
  });
  slider.addEventListener("click", (event) => select(steps[at(event)].turn));
  slider.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      select(steps[view.at].turn);
      document.getElementById("turn-title")?.focus();
      return;
    }
    const place = moved(event.key, view.at, steps.length - 1, Math.max(10, Math.round(steps.length / 20)));
    if (place === null) return;
    event.preventDefault();
    view.at = place;
    point();
  });
  new ResizeObserver(([entry]) => {
    view.width = Math.floor(entry.contentRect.width);
    draw();
    point();
  }).observe(figure);
  return {
    figure,
    show: () => {
      view.at = lastOf(steps, state.turn);
      if (!view.told) return;
      svg.querySelector(".band").replaceWith(turnBand(steps, view));
      point();
    },
  };
}

/** The place of a turn's last step, or of the last one before it. */
function lastOf(steps, turn) {
  let found = 0;
  for (let at = 0; at < steps.length && steps[at].turn <= turn; at += 1) found = at;
  return found;
}

/** Give each step's level in tokens: what a request told; after a compaction what is left of it. */
function levels(steps) {
  let used = null;
  let stale = false;
  return steps.map((step) => {
    if (step.kind === "request") [used, stale] = [step.used, false];
    else [used, stale] = [isNumber(step.postTokens) ? step.postTokens : used, true];
    return { used, stale };
  });
}

function drawFill(svg, steps, size, view) {
  const { height, left, top, bottom } = FILL;
  const floor = height - bottom;
  const told = levels(steps);
  const most = niceTop(Math.max(size?.tokens ?? 1, ...told.map((one) => one.used ?? 0)));
  Object.assign(view, { most, told, pitch: (view.width - left) / steps.length });
  const y = (tokens) => floor - ((floor - top) * tokens) / most;
  const x = (place) => left + place * view.pitch;
  svg.setAttribute("viewBox", `0 0 ${view.width} ${height}`);
  svg.setAttribute("width", view.width);
  svg.setAttribute("height", height);
  const { line, area, stale } = stepPaths(told, x, y, floor, view.pitch);
  const dense = view.pitch < 2 ? " dense" : "";
  svg.replaceChildren(
    ...[0, 0.5, 1].map((part) => s("g", { class: "axis" },
      s("line", { x1: left, x2: view.width, y1: Math.round(y(part * most)) + 0.5, y2: Math.round(y(part * most)) + 0.5 }),
      s("text", { x: left - 8, y: y(part * most) + 4, "text-anchor": "end" }, short(part * most)))),
    turnBand(steps, view),
    s("path", { class: "level-area", d: area }),
    s("path", { class: `level${dense}`, d: line }),
    s("path", { class: `level stale${dense}`, d: stale }),
    ...(size ? limitLine(size, y, left, view.width) : []),
    ...compactionMarks(steps, x, top, floor),
    ...turnTicks(steps, x, view, height),
    pointer(view, steps, size),
  );
}

/** Steps as paths; where several share a pixel only their extremes are kept. */
function stepPaths(told, x, y, floor, pitch) {
  const paths = { line: [], stale: [], area: [] };
  const stride = pitch >= 0.5 ? 1 : Math.ceil(0.5 / pitch);
  let before = null;
  for (let at = 0; at < told.length; at += stride) {
    const here = told.slice(at, at + stride).filter((one) => one.used !== null);
    if (!here.length) continue;
    const last = here[here.length - 1];
    const [low, high] = [Math.min(...here.map((one) => one.used)), Math.max(...here.map((one) => one.used))];
    const [from, to] = [x(at).toFixed(1), x(Math.min(at + stride, told.length)).toFixed(1)];
    const level = y(last.used).toFixed(1);
    if (!last.stale) paths.area.push(`M${from} ${floor}V${y(high).toFixed(1)}H${to}V${floor}z`);
    const path = last.stale ? paths.stale : paths.line;
    const joins = before && before.stale === last.stale;
    path.push(joins ? `V${level}` : `M${from} ${level}`);
    if (stride > 1) path.push(`V${y(low).toFixed(1)}V${y(high).toFixed(1)}V${level}`);
    path.push(`H${to}`);
    before = last;
  }
  return { line: paths.line.join(""), stale: paths.stale.join(""), area: paths.area.join("") };
}

/** A light band behind the steps of the selected turn; a turn without any has an empty one. */
function turnBand(steps, view) {
  const { height, left, top, bottom } = FILL;
  const first = steps.findIndex((step) => step.turn === state.turn);
  const last = steps.findLastIndex((step) => step.turn === state.turn);
  const width = first < 0 ? 0 : Math.max(2, (last - first + 1) * view.pitch);
  return s("rect", { class: "band selected", x: left + Math.max(0, first) * view.pitch, y: top - 6, width, height: height - bottom - top + 10, rx: 2 });
}

function limitLine(size, y, left, width) {
  const at = Math.round(y(size.tokens)) + 0.5;
  return [
    s("line", { class: "limit", x1: left, x2: width, y1: at, y2: at }),
    s("text", { class: "limit-name", x: width - 2, y: at - 5, "text-anchor": "end" }, s("title", {}, full(size.source ?? t("no_source"))), t("window_is", { n: size.tokens })),
  ];
}

function compactionMarks(steps, x, top, floor) {
  const marks = steps.map((step, at) => [step, at]).filter(([step]) => step.kind === "compaction");
  const few = marks.length <= TOPPED_COMPACTIONS;
  return marks.map(([step, at]) => s("g", { class: "compaction" },
    s("title", {}, compactionTold(step).join(", ")),
    s("line", { x1: x(at), x2: x(at), y1: top - 4, y2: few ? floor : top + 3 }),
    few && s("path", { d: `M${x(at) - 4.5} ${top - 10}h9l-4.5 7z` })));
}

function compactionTold(step) {
  const trigger = isText(step.trigger) ? (`trigger_${step.trigger}` in WORDS ? t(`trigger_${step.trigger}`) : shown(step.trigger)) : null;
  return [
    t("compaction"), trigger,
    isNumber(step.preTokens) && t("before", { n: step.preTokens }),
    isNumber(step.postTokens) && t("after", { n: step.postTokens }),
  ].filter(Boolean);
}

/** The numbers of turns below the chart, as many as fit. */
function turnTicks(steps, x, view, height) {
  const found = [];
  let free = -Infinity;
  let before = -1;
  for (const [at, step] of steps.entries()) {
    if (step.turn === before) continue;
    before = step.turn;
    if (x(at) < free || x(at) > view.width - 24) continue;
    free = x(at) + 46;
    found.push(s("text", { class: "tick", x: x(at), y: height - 6 }, num(step.turn + 1)));
  }
  return found;
}

function pointer(view, steps) {
  const { used, stale } = view.told[view.at];
  const floor = FILL.height - FILL.bottom;
  const x = FILL.left + (view.at + 0.5) * view.pitch;
  const y = floor - ((floor - FILL.top) * (used ?? 0)) / view.most;
  return s("g", { class: `pointer${stale ? " stale" : ""}` },
    s("line", { x1: x, x2: x, y1: FILL.top - 4, y2: floor }), used !== null && s("circle", { cx: x, cy: y, r: 3.5 }));
}

function stepTold(steps, at, size) {
  const step = steps[at];
  const place = [t("turn_n", { n: step.turn + 1 }), isNumber(step.line) && t("line", { n: step.line })].filter(Boolean).join(", ");
  if (step.kind === "compaction") return [...compactionTold(step), place];
  const window = size ? ` / ${num(size.tokens)} (${percent(step.used, size.tokens)})` : "";
  return [
    `${num(step.used)}${window}`,
    isNumber(step.output) && `${t("output")} ${num(step.output)}`,
    place,
    full(step.source ?? t("fill_source")),
  ].filter(Boolean);
}

function fillTable(steps, size) {
  const row = (step) => () => h("tr", { class: step.kind === "compaction" ? "caution-row" : "" },
    h("td", { class: "n" }, num(step.turn + 1)),
    h("td", { class: "n" }, isNumber(step.line) ? num(step.line) : t("not_known")),
    h("td", { class: "n" }, step.kind === "request" ? num(step.used) : compactionTold(step).join(", ")),
    h("td", { class: "n" }, step.kind === "request" && size ? percent(step.used, size.tokens) : ""),
    h("td", { class: "n" }, isNumber(step.output) ? num(step.output) : ""),
    h("td", { class: "from" }, h("span", { class: "source" }, step.kind === "request" ? shown(step.source ?? t("fill_source")) : "")));
  return lazyDetails(t("as_table"), () => h("table", { class: "grid" },
    h("thead", {}, h("tr", {},
      [t("turn"), t("lines"), t("used"), t("ratio"), t("output")].map((text) => h("th", { scope: "col", class: "n" }, text)),
      h("th", { scope: "col" }, t("source")))),
    h("tbody", {}, [...cutRows(steps.map(row), 100, 6)])));
}
