// All turns of a session as stacked bars. Only the bars in view are drawn, one path a kind, so
// that thousands of turns cost what a screenful does; the overview below draws a bar a pixel.

const STRIP = { height: 200, left: 46, top: 8, bottom: 20, pitchLeast: 9, pitchMost: 44 };
const OVERVIEW_HEIGHT = 34;

function turnStrip(turns, select) {
  const kinds = kindsOf(turns);
  const view = { from: 0, count: turns.length, width: 0, hover: null, most: 1 };
  const bars = s("svg", { class: "strip", "aria-hidden": "true", focusable: "false" });
  const keys = legend(kinds, () => drawAll());
  const slider = h(
    "div",
    {
      class: "slider",
      role: "slider",
      tabindex: "0",
      "aria-label": t("turns"),
      "aria-orientation": "horizontal",
      "aria-valuemin": 1,
      "aria-valuemax": turns.length,
    },
    bars,
  );
  const overview = s("svg", { class: "overview", "aria-hidden": "true", focusable: "false" }, s("title", {}, t("overview")));
  const figure = h("div", { class: "turns-chart" }, slider, overview);

  const draw = () => {
    if (view.width < 80) return;
    placeView(view, turns.length);
    drawBars(bars, turns, kinds, view);
    moveBrush(overview, turns.length, view);
    say();
  };
  /** Draw anew what depends on all turns: after another width, scale or choice of kinds. */
  const drawAll = () => {
    if (view.width < 80) return;
    placeView(view, turns.length);
    view.most = turns.reduce((most, turn) => Math.max(most, shownSum(turn)), 1);
    drawOverview(overview, turns, kinds, view);
    draw();
  };
  const say = () => {
    keys.say(turns[view.hover ?? state.turn]);
    slider.setAttribute("aria-valuenow", state.turn + 1);
    slider.setAttribute("aria-valuetext", spokenTurn(turns[state.turn], turns.length, kinds));
  };
  const at = (event) => {
    const x = event.clientX - bars.getBoundingClientRect().left - STRIP.left;
    const place = view.from + Math.floor(x / view.pitch);
    return x >= 0 && place < Math.min(view.from + view.count, turns.length) ? place : null;
  };
  slider.addEventListener("pointermove", (event) => {
    const place = at(event);
    if (place === view.hover) return;
    view.hover = place;
    draw();
  });
  slider.addEventListener("pointerleave", () => {
    view.hover = null;
    draw();
  });
  slider.addEventListener("click", (event) => {
    const place = at(event);
    if (place !== null) select(place);
  });
  slider.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      document.getElementById("turn-title")?.focus();
      return;
    }
    const place = moved(event.key, state.turn, turns.length - 1, Math.max(10, view.count - 1));
    if (place === null) return;
    event.preventDefault();
    view.hover = null;
    select(place);
  });
  dragOverview(overview, view, turns.length, draw);
  new ResizeObserver(([entry]) => {
    view.width = Math.floor(entry.contentRect.width);
    drawAll();
    show();
  }).observe(figure);

  /** Bring the selected turn into view and draw. */
  function show() {
    placeView(view, turns.length);
    const [first, last] = [view.from, view.from + view.count - 1];
    const far = state.turn < first - 1 || state.turn > last + 1;
    if (far) view.from = state.turn - Math.floor(view.count / 2);
    else if (state.turn < first + 2) view.from = state.turn - 2;
    else if (state.turn > last - 2) view.from = state.turn - view.count + 3;
    draw();
  }
  return { figure, legend: keys.group, scale: scale(drawAll), show };
}

/** Say how many bars fit; a view that reaches past the end goes back. */
function placeView(view, turns) {
  const room = Math.max(1, view.width - STRIP.left);
  view.count = clamp(Math.floor(room / STRIP.pitchLeast), 1, turns);
  view.pitch = Math.min(STRIP.pitchMost, room / view.count);
  view.from = clamp(view.from, 0, turns - view.count);
}

function drawBars(svg, turns, kinds, view) {
  const { height, left, top, bottom } = STRIP;
  const floor = height - bottom;
  const room = floor - top;
  const gap = view.pitch > 14 ? 3 : 2;
  const paths = new Map(kinds.map((kind) => [kind, []]));
  const whole = state.scale === "share" ? null : niceTop(view.most);
  const seen = turns.slice(view.from, view.from + view.count);
  for (const [place, turn] of seen.entries()) {
    const unit = room / (whole ?? Math.max(1, shownSum(turn)));
    const x = left + place * view.pitch;
    let y = floor;
    for (const kind of kinds) {
      const tokens = state.hidden.has(kind) ? 0 : turn.byKind.get(kind) ?? 0;
      if (!tokens) continue;
      const tall = tokens * unit;
      // A hairline of the surface between the parts tells neighbours apart without their colours.
      const line = tall > 3 ? 1 : 0;
      paths.get(kind).push(`M${x.toFixed(1)} ${y.toFixed(1)}h${(view.pitch - gap).toFixed(1)}v${(line - tall).toFixed(1)}h${(gap - view.pitch).toFixed(1)}z`);
      y -= tall;
    }
  }
  svg.setAttribute("viewBox", `0 0 ${view.width} ${height}`);
  svg.setAttribute("width", view.width);
  svg.setAttribute("height", height);
  svg.replaceChildren(
    ...axis(view.width, whole),
    ...marked(view, floor),
    ...kinds.map((kind) => s("path", { class: `fill ${kindClass(kind)}`, d: paths.get(kind).join("") })),
    ...ticks(turns, view),
  );
}

function axis(width, whole) {
  const { height, left, top, bottom } = STRIP;
  // Where no turn has a figure there is no scale either, only the ground.
  return (whole === null || whole > 1 ? [0, 0.5, 1] : [0]).map((part) => {
    const y = Math.round(height - bottom - part * (height - bottom - top)) + 0.5;
    const text = whole === null ? `${part * 100} %` : short(part * whole);
    return s(
      "g",
      { class: "axis" },
      s("line", { x1: left, x2: width, y1: y, y2: y }),
      s("text", { x: left - 8, y: y + 4, "text-anchor": "end" }, text),
    );
  });
}

/** A light band behind the selected turn, a lighter one behind that under the pointer. */
function marked(view, floor) {
  const band = (turn, name) => {
    if (turn === null || turn < view.from || turn >= view.from + view.count) return null;
    const x = STRIP.left + (turn - view.from) * view.pitch - (view.pitch > 14 ? 1.5 : 1);
    return s("rect", { class: `band ${name}`, x, y: 2, width: view.pitch, height: floor + 14, rx: 2 });
  };
  return [band(view.hover, "hover"), band(state.turn, "selected")].filter(Boolean);
}

function ticks(turns, view) {
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => step * view.pitch >= 42) ?? 1000;
  const found = [];
  for (let turn = view.from; turn < Math.min(view.from + view.count, turns.length); turn += 1) {
    const chosen = turn === state.turn;
    const crowded = Math.abs(turn - state.turn) * view.pitch < 30;
    if (!chosen && ((turn + 1) % every !== 0 || crowded)) continue;
    const x = STRIP.left + (turn - view.from + 0.5) * view.pitch - 1;
    const anchor = x > view.width - 20 ? { x: view.width, "text-anchor": "end" } : { x, "text-anchor": "middle" };
    found.push(s("text", { class: chosen ? "tick chosen" : "tick", y: STRIP.height - 6, ...anchor }, num(turn + 1)));
  }
  return found;
}

/** Draw all turns, a bar a pixel: of the turns that share a pixel the largest stands for them. */
function drawOverview(svg, turns, kinds, view) {
  svg.classList.toggle("gone", view.count >= turns.length);
  if (view.count >= turns.length) return;
  const room = view.width - STRIP.left;
  const columns = Math.min(room, turns.length);
  const wide = room / columns;
  const paths = new Map(kinds.map((kind) => [kind, []]));
  for (let column = 0; column < columns; column += 1) {
    const turn = largest(turns, Math.floor((column * turns.length) / columns), Math.floor(((column + 1) * turns.length) / columns));
    const unit = (OVERVIEW_HEIGHT - 4) / (state.scale === "share" ? Math.max(1, shownSum(turn)) : view.most);
    let y = OVERVIEW_HEIGHT - 2;
    for (const kind of kinds) {
      const tokens = state.hidden.has(kind) ? 0 : turn.byKind.get(kind) ?? 0;
      if (!tokens) continue;
      paths.get(kind).push(`M${(STRIP.left + column * wide).toFixed(1)} ${y.toFixed(1)}h${wide.toFixed(2)}v${(-tokens * unit).toFixed(1)}h${(-wide).toFixed(2)}z`);
      y -= tokens * unit;
    }
  }
  svg.setAttribute("viewBox", `0 0 ${view.width} ${OVERVIEW_HEIGHT}`);
  svg.setAttribute("width", view.width);
  svg.setAttribute("height", OVERVIEW_HEIGHT);
  svg.replaceChildren(
    s("title", {}, t("overview")),
    ...kinds.map((kind) => s("path", { class: `fill ${kindClass(kind)}`, d: paths.get(kind).join("") })),
    s("rect", { class: "brush", y: 0.5, height: OVERVIEW_HEIGHT - 1, rx: 2 }),
  );
}

function moveBrush(svg, turns, view) {
  const room = view.width - STRIP.left;
  const brush = svg.querySelector(".brush");
  brush?.setAttribute("x", STRIP.left + (view.from / turns) * room);
  brush?.setAttribute("width", Math.max(6, (view.count / turns) * room));
}

function largest(turns, from, to) {
  let best = turns[from];
  for (let at = from + 1; at < to; at += 1) if (shownSum(turns[at]) > shownSum(best)) best = turns[at];
  return best;
}

/** Let the pointer move the view; the keyboard moves it with the selected turn. */
function dragOverview(svg, view, turns, draw) {
  const follow = (event) => {
    const box = svg.getBoundingClientRect();
    const part = (event.clientX - box.left - STRIP.left) / (box.width - STRIP.left);
    view.from = Math.round(part * turns - view.count / 2);
    draw();
  };
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    follow(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (event.buttons === 1) follow(event);
  });
}

function niceTop(most) {
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((part) => part * size).find((top) => top >= most) ?? 10 * size;
}

function spokenTurn(turn, all, kinds) {
  const parts = kinds.filter((kind) => turn.byKind.get(kind)).map((kind) => `${kindName(kind)} ${num(turn.byKind.get(kind))}`);
  return [t("turn_of", { n: turn.at + 1, all }), ...(parts.length ? parts : [t("nothing_entered")])].join(", ");
}

/** The kinds with their colours and what the turn that is looked at has of each; also switches. */
function legend(kinds, draw) {
  const place = h("span", { class: "key-sum" });
  const sums = new Map(kinds.map((kind) => [kind, h("span", { class: "key-sum" })]));
  const title = h("span", { class: "key-name" });
  const button = (kind) => {
    const pressed = () => String(!state.hidden.has(kind));
    const made = h("button", { type: "button", class: "key", "aria-pressed": pressed(), "aria-label": kindName(kind) },
      swatch(kind), h("span", { class: "key-name" }, kindName(kind)), sums.get(kind));
    made.addEventListener("click", () => {
      if (!state.hidden.delete(kind)) state.hidden.add(kind);
      made.setAttribute("aria-pressed", pressed());
      draw();
    });
    return made;
  };
  const group = h("div", { class: "legend", role: "group", "aria-label": t("legend") },
    h("div", { class: "key all", "aria-hidden": "true" }, title, place), kinds.map(button));
  const say = (turn) => {
    title.textContent = t("turn_n", { n: turn.at + 1 });
    place.textContent = turn.byKind.size ? num(wholeOf(turn)) : t("not_known");
    for (const [kind, element] of sums) {
      element.textContent = turn.byKind.has(kind) ? num(turn.byKind.get(kind)) : "";
      element.title = sourceOf(turn, kind) ?? "";
    }
  };
  return { group, say };
}

const wholeOf = (turn) => [...turn.byKind.values()].reduce((one, other) => one + other, 0);

function scale(draw) {
  return choice(t("scale"), [["tokens", t("scale_tokens")], ["share", t("scale_share")]], state.scale, (picked) => {
    state.scale = picked;
    draw();
  });
}

/** A few buttons of which one is pressed. */
function choice(label, options, picked, pick) {
  const buttons = options.map(([value, text]) => h("button", { type: "button", "aria-pressed": String(value === picked), "data-value": value }, text));
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      pick(button.dataset.value);
    });
  }
  return h("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

/** The same figures as a table, a hundred turns at a time. */
function turnTable(turns, select) {
  const kinds = kindsOf(turns);
  const row = (turn) => () => {
    const go = h("button", { type: "button", class: "link" }, num(turn.at + 1));
    go.addEventListener("click", () => {
      select(turn.at);
      document.getElementById("turn-title")?.focus();
    });
    return h(
      "tr",
      {},
      h("th", { scope: "row", class: "n" }, go),
      kinds.map((kind) => h("td", { class: "n", title: sourceOf(turn, kind) }, turn.byKind.has(kind) ? num(turn.byKind.get(kind)) : "")),
      h("td", { class: "n" }, turn.byKind.size ? num(wholeOf(turn)) : h("span", { class: "absent" }, t("not_known"))),
    );
  };
  return lazyDetails(t("as_table"), () =>
    h(
      "table",
      { class: "grid" },
      h("thead", {}, h("tr", {}, [t("turn"), ...kinds.map(kindName), t("total")].map((text) => h("th", { scope: "col", class: "n" }, text)))),
      h("tbody", {}, [...cutRows(turns.map(row), 100, kinds.length + 2)]),
    ),
  );
}

function sourceOf(turn, kind) {
  const row = turn.rows.find((one) => one.kind === kind);
  return row && full(row.source ?? kindSource(kind));
}

/** A part that is made when it is first opened. */
function lazyDetails(title, make, attributes = {}) {
  const body = h("div", { class: "scroll" });
  const details = h("details", attributes, h("summary", {}, title), body);
  const once = () => {
    if (details.open && !body.hasChildNodes()) body.append(make());
  };
  details.addEventListener("toggle", once);
  return details;
}
