// What one request is made of: a treemap of its parts, and the same as a table.

const MAP_HEIGHT = 380;
const HEAD_HEIGHT = 19;
const PART_KINDS = {  // Role of a part: the kind whose colour it has.
  system_prompt: "system_prompt",
  tool_schema: "tools",
  mcp_schema: "mcp",
  skill_listing: "skills",
  skill_body: "skills",
  instructions: "rules",
  memory: "memory",
  mcp_instructions: "mcp",
  file: "files_attachments",
  image: "files_attachments",
  user_text: "conversation",
  assistant_text: "conversation",
  thinking: "conversation",
  tool_input: "tools",
  tool_result: "tools",
};

function requestPanel(session, select) {
  const composition = object(session.turns[state.turn].data.composition);
  const parts = objects(composition.parts).filter((part) => isNumber(part.tokens) || isNumber(part.units));
  const panel = h("section", { class: "panel", "aria-labelledby": "request-title" }, h("h3", { id: "request-title" }, t("composition")));
  if (!parts.length) {
    add(panel, [h("p", { class: "quiet" }, t("no_composition"), " ", nearest(session, select))]);
    return panel;
  }
  const groups = grouped(parts);
  const id = isText(composition.requestId) ? composition.requestId : "–";
  add(panel, [
    isNumber(composition.reported) && h("p", { class: "quiet" }, t("composition_hint", { n: composition.reported, id })),
    h("div", { class: "columns even" }, treemap(groups), partTable(groups, composition.reported)),
  ]);
  return panel;
}

/** A way to the nearest turn whose request was written down. */
function nearest(session, select) {
  const has = (turn) => objects(object(turn.data.composition).parts).length > 0;
  const found = session.turns.filter(has).sort((one, other) => Math.abs(one.at - state.turn) - Math.abs(other.at - state.turn))[0];
  if (!found) return null;
  return h("button", { type: "button", class: "link", on: { click: () => select(found.at) } }, t("go_to_composition", { n: found.at + 1 }));
}

const partSize = (part) => (isNumber(part.tokens) ? part.tokens : 0);
const isMcp = (part) => isText(part.name) && part.name.startsWith("mcp__");

/** Put parts of one role together, and in them those of one name; the largest first. */
function grouped(parts) {
  const groups = new Map();
  for (const part of parts) {
    const kind = isMcp(part) ? "mcp" : PART_KINDS[part.kind] ?? (ROWS.includes(part.kind) ? part.kind : "other");
    const key = `${part.kind} ${kind}`;
    if (!groups.has(key)) groups.set(key, { role: part.kind, kind, title: roleName(part.kind, kind), members: new Map() });
    const members = groups.get(key).members;
    const name = isText(part.name) ? part.name : "";
    const member = members.get(name) ?? { name, tokens: 0, units: 0, parts: 0, sources: new Set() };
    member.tokens += partSize(part);
    member.units += isNumber(part.units) ? part.units : 0;
    member.parts += 1;
    if (isText(part.source)) member.sources.add(part.source);
    members.set(name, member);
  }
  const made = [...groups.values()].map((group) => {
    const members = [...group.members.values()].sort((one, other) => other.tokens - one.tokens);
    return { ...group, members, tokens: total(members, "tokens"), units: total(members, "units"), parts: total(members, "parts") };
  });
  return made.sort((one, other) => other.tokens - one.tokens);
}

const total = (members, key) => members.reduce((all, member) => all + member[key], 0);

function roleName(role, kind) {
  const name = `part_${role}` in WORDS ? t(`part_${role}`) : kindName(role);
  return kind === "mcp" && role !== "mcp_instructions" && role !== "mcp" ? `${name} (MCP)` : name;
}

/** A treemap whose cells the arrow keys walk; what a cell holds is said below it. */
function treemap(groups) {
  const map = h("div", { class: "treemap", role: "group", "aria-label": t("treemap") });
  const told = h("p", { class: "readout", "aria-live": "polite" });
  const figure = h("div", {}, map, told);
  const say = (cell) => told.replaceChildren(cell.title.replaceAll("\n", " · "));
  map.addEventListener("pointerover", (event) => event.target.closest(".cell") && say(event.target.closest(".cell")));
  map.addEventListener("focusin", (event) => say(event.target.closest(".cell")));
  map.addEventListener("keydown", (event) => {
    const cells = [...map.querySelectorAll(".cell")];
    const keys = { ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };
    const place = moved(keys[event.key] ?? event.key, cells.indexOf(document.activeElement), cells.length - 1, 5);
    if (place === null) return;
    event.preventDefault();
    for (const cell of cells) cell.tabIndex = -1;
    cells[place].tabIndex = 0;
    cells[place].focus();
  });
  new ResizeObserver(([entry]) => drawMap(map, groups, Math.floor(entry.contentRect.width))).observe(map);
  return figure;
}

function drawMap(map, groups, width) {
  if (width < 60 || map.dataset.width === String(width)) return;
  map.dataset.width = width;
  const whole = total(groups, "tokens");
  const cells = [];
  for (const [group, box] of squarified(groups.filter((one) => one.tokens > 0), { x: 0, y: 0, w: width, h: MAP_HEIGHT })) {
    const headed = group.members.length > 1 && box.h > 3 * HEAD_HEIGHT && box.w > 70;
    if (headed) cells.push(headOf(group, box));
    const inner = headed ? { x: box.x, y: box.y + HEAD_HEIGHT, w: box.w, h: box.h - HEAD_HEIGHT } : box;
    for (const [member, place] of squarified(group.members.filter((one) => one.tokens > 0), inner)) {
      cells.push(cellOf(group, member, place, whole, headed));
    }
  }
  map.replaceChildren(...cells);
  const first = map.querySelector(".cell");
  if (first) first.tabIndex = 0;
}

function headOf(group, box) {
  return placed(h("div", { class: `map-head ${kindClass(group.kind)}`, "aria-hidden": "true" }, group.title, h("span", {}, short(group.tokens))), { ...box, h: HEAD_HEIGHT });
}

function cellOf(group, member, box, whole, headed) {
  const name = member.name ? shown(member.name) : group.title;
  const title = [
    headed || member.name ? `${group.title}${member.name ? `: ${name}` : ""}` : group.title,
    `${t("n_tokens", { n: member.tokens })} (${percent(member.tokens, whole)})`,
    t("n_units", { n: member.units }),
    member.parts > 1 ? t("n_parts", { n: member.parts }) : "",
    full([...member.sources].join(" + ")),
  ].filter(Boolean).join("\n");
  const roomy = box.w > 34 && box.h > 16;
  const label = headed || !member.name ? name : `${group.title}: ${name}`;
  return placed(
    h("div", { class: `cell ${kindClass(group.kind)}`, tabindex: "-1", role: "img", "aria-label": title.replaceAll("\n", ", "), title },
      roomy && h("span", { class: "cell-name" }, label),
      roomy && box.h > 34 && h("span", { class: "cell-sum" }, short(member.tokens))),
    box);
}

function placed(element, { x, y, w, h: tall }) {
  const gap = Math.min(w, tall) > 3 ? 1 : 0;
  Object.assign(element.style, { left: `${x}px`, top: `${y}px`, width: `${Math.max(1, w - gap)}px`, height: `${Math.max(1, tall - gap)}px` });
  return element;
}

/** Lay items {tokens} out in a box, near to squares; give [item, box] pairs, the largest first. */
function squarified(items, box) {
  const placedItems = [];
  let left = total(items, "tokens");
  let { x, y, w, h: tall } = box;
  let row = [];
  for (let at = 0; at < items.length || row.length; ) {
    const side = Math.min(w, tall);
    const area = (tokens) => (left > 0 ? (tokens / left) * w * tall : 0);
    const next = items[at];
    if (next && (!row.length || worst([...row, next], side, area) <= worst(row, side, area))) {
      row.push(next);
      at += 1;
      continue;
    }
    const rowTokens = total(row, "tokens");
    const thick = side > 0 ? area(rowTokens) / side : 0;
    let along = 0;
    for (const item of row) {
      const long = rowTokens > 0 ? (item.tokens / rowTokens) * side : 0;
      placedItems.push([item, w >= tall ? { x, y: y + along, w: thick, h: long } : { x: x + along, y, w: long, h: thick }]);
      along += long;
    }
    if (w >= tall) { x += thick; w -= thick; } else { y += thick; tall -= thick; }
    left -= rowTokens;
    row = [];
  }
  return placedItems;
}

function worst(row, side, area) {
  const areas = row.map((item) => area(item.tokens));
  const all = areas.reduce((one, other) => one + other, 0);
  const [least, most] = [Math.min(...areas), Math.max(...areas)];
  return Math.max((side * side * most) / (all * all), (all * all) / (side * side * least));
}

function partTable(groups, reported) {
  const whole = isNumber(reported) ? reported : total(groups, "tokens");
  const row = (group) => () => {
    const sources = new Set(group.members.flatMap((member) => [...member.sources]));
    const line = partRow("kind", [swatch(group.kind), group.title], group, whole, sources);
    if (group.members.some((member) => member.name)) {
      opens(line, group.title, () =>
        [...cutRows(group.members.map((member) => () => partRow("level-1", member.name ? named(member.name) : group.title, member, whole, member.sources)), 50, 5, "level-1")]);
    }
    return line;
  };
  return h("div", { class: "scroll" }, h("table", { class: "tree" },
    columns("part", "tokens", "share", "tokens", "rest"),
    h("thead", {}, h("tr", {},
      h("th", { scope: "col" }, t("part")),
      h("th", { scope: "col", class: "n" }, t("tokens")),
      h("th", { scope: "col", class: "n" }, t("share")),
      h("th", { scope: "col", class: "n", title: t("units_are") }, t("units")),
      h("th", { scope: "col" }, t("source")))),
    h("tbody", {}, groups.map((group) => row(group)())),
    h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, t("total")), h("td", { class: "n" }, num(total(groups, "tokens"))), h("td"), h("td", { class: "n" }, num(total(groups, "units"))), h("td")))));
}

function partRow(className, title, part, whole, sources) {
  const source = [...sources].join(" + ") || t("no_source");
  return h("tr", { class: className },
    h("th", { scope: "row" }, h("span", { class: "toggle-room" }), title, part.parts > 1 && h("span", { class: "times" }, ` × ${num(part.parts)}`)),
    h("td", { class: "n" }, sum(part.tokens, source)),
    h("td", { class: "n share" }, percent(part.tokens, whole)),
    h("td", { class: "n" }, sum(part.units, source)),
    h("td", { class: "from" }, h("span", { class: "source", title: full(source) }, shown(source))));
}
