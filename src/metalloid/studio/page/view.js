// The lines of the source that can be seen: only they get colours and numbers, so a key costs the same in a long text.
import { h } from "./dom.js";
import { metalFrom } from "./highlight.js";

const SPARE = 40; // lines above and below, so that a short way of scrolling shows no gap
const TOP = 12, BOTTOM = 60; // pixels, as in editor.css
export const gutter = h("div", { class: "gutter", "aria-hidden": "true" });
export const paint = h("pre", { class: "paint", "aria-hidden": "true" });
const room = h("div", { class: "room", "aria-hidden": "true" });
let editor = null, text = "", starts = [0], marked = new Map(), first = 0, last = 0;

export function openView(scroller, page) {
  editor = scroller;
  page.prepend(room);
  editor.addEventListener("scroll", () => outside() && draw());
  new ResizeObserver(() => outside() && draw()).observe(editor);
}

// The text is another one: its lines are found again.
export function setView(now) {
  text = now;
  starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  room.style.cssText = `height: calc(${starts.length} * var(--line)); width: ${longest()}ch`;
  gutter.style.minHeight = `calc(${starts.length} * var(--line) + ${TOP + BOTTOM}px)`;
  draw();
}

// Which lines have a mistake or a finding: the number and how bad it is.
export function setMarked(lines) {
  marked = lines;
  for (const number of gutter.children) classed(number);
}

export const lineCount = () => starts.length;
export const lineText = (line) => text.slice(starts[line - 1], (starts[line] ?? text.length + 1) - 1);
export const startOf = (line) => starts[line - 1] ?? text.length;

export function lineAt(offset) {
  let low = 0, high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= offset) low = middle;
    else high = middle;
  }
  return low + 1;
}

// Scrolls as little as is needed to see a line.
export function show(line) {
  const height = lineHeight(), top = TOP + (line - 1) * height, edge = 60;
  if (top - edge < editor.scrollTop) editor.scrollTop = Math.max(0, top - edge);
  else if (top + height + edge > editor.scrollTop + editor.clientHeight) editor.scrollTop = top + height + edge - editor.clientHeight;
}

const lineHeight = () => parseFloat(getComputedStyle(gutter).lineHeight);

function seen(spare) {
  const height = lineHeight(), from = editor.scrollTop - TOP;
  return [Math.max(0, Math.floor(from / height) - spare), Math.min(starts.length, Math.ceil((from + editor.clientHeight) / height) + spare)];
}

function outside() {
  const [from, to] = seen(0);
  return from < first || to > last;
}

function draw() {
  [first, last] = seen(SPARE);
  const down = `calc(${first} * var(--line))`;
  paint.style.marginTop = down;
  paint.innerHTML = metalFrom(text, starts[first] ?? 0, starts[last] ?? text.length);
  gutter.style.paddingTop = `calc(${first} * var(--line) + ${TOP}px)`;
  while (gutter.children.length < last - first) gutter.append(h("div"));
  while (gutter.children.length > last - first) gutter.lastChild.remove();
  [...gutter.children].forEach((number, n) => {
    number.textContent = String(first + n + 1);
    classed(number);
  });
}

function classed(number) {
  const kind = marked.get(Number(number.textContent));
  if (kind) number.className = kind;
  else number.removeAttribute("class");
}

// In characters: tabs take up to four, and what is not Latin may take two.
function longest() {
  let most = 0;
  for (let n = 0; n < starts.length; n++) most = Math.max(most, (starts[n + 1] ?? text.length + 1) - starts[n] - 1);
  if (/[\t\u0300-\uffff]/.test(text)) for (const line of text.split("\n")) most = Math.max(most, line.length + 3 * (line.split("\t").length - 1) + (line.match(/[\u0300-\uffff]/g)?.length ?? 0));
  return most;
}
