// Elements and the page's data. Texts only ever become text nodes or attribute values.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes by name, `on` {event: listener}, children as nodes or texts. */
function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, { on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== null && value !== false) {
      element.setAttribute(name, String(value));
    }
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Read a block of data; a block that is not there is an empty object. */
function block(id) {
  const found = document.getElementById(id);
  return found ? object(JSON.parse(found.textContent)) : {};
}

// Whatever the report holds, a reader of it gets the shape that it asks for.
const list = (value) => (Array.isArray(value) ? value : []);
const objects = (value) => list(value).filter((item) => item !== null && typeof item === "object");
const object = (value) =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const isText = (value) => typeof value === "string" && value !== "";

const REPORT = block("report");
const KINDS = list(REPORT.kinds);
const ROWS = list(REPORT.rows);

/** The part of `state` that a fragment can carry: which session, which turn, both from 0. */
const state = { session: 0, turn: 0, scale: "tokens", hidden: new Set() };

const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

/** Move with the keys of a slider; give the new place, or null for another key. */
function moved(key, place, last, page) {
  const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
  const to = { ...steps, PageUp: page, PageDown: -page, Home: -Infinity, End: Infinity }[key];
  return to === undefined ? null : clamp(place + to, 0, last);
}
