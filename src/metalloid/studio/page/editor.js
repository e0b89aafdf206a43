// The source: a textarea over a painted copy, with marks for mistakes and findings.
import { $, h } from "./dom.js";
import { metal } from "./highlight.js";
import { keys } from "./keys.js";
import { on, state, tell } from "./state.js";

const TAB = 4;
const LONG = 40_000; // characters
let later = 0;
const RANK = { error: 0, warning: 1, note: 2 };
const input = h("textarea", { class: "type-here", id: "source", spellcheck: "false", wrap: "off", "aria-label": "Metal source", autocapitalize: "off", autocomplete: "off" });
const paint = h("pre", { class: "paint", "aria-hidden": "true" });
const gutter = h("div", { class: "gutter", "aria-hidden": "true" });
const marks = h("div", { class: "marks", "aria-hidden": "true" });
const lenses = h("div", { class: "lenses" });

export function openEditor() {
  $("editor").append(h("div", { class: "sheet" }, gutter, h("div", { class: "page" }, marks, paint, input, lenses)));
  input.addEventListener("input", () => changed(true));
  input.addEventListener("keydown", (event) => keys(event, input));
  document.addEventListener("selectionchange", () => document.activeElement === input && place());
  gutter.addEventListener("click", (event) => {
    const line = [...gutter.children].indexOf(event.target) + 1;
    if (line) tell("line", line);
  });
  input.addEventListener("click", () => tell("line", lineOf(input.selectionStart)));
  on("diagnostics", draw);
  on("findings", draw);
  on("linked", () => draw());
}

export function setText(text) {
  input.value = text;
  input.setSelectionRange(0, 0);
  $("editor").scrollTo(0, 0);
  changed(false);
}

export function goTo(line, column = 1) {
  const lines = input.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + Math.max(0, column - 1);
  input.focus({ preventScroll: true });
  input.setSelectionRange(at, at);
  show(line);
  place();
}

export function show(line) {
  gutter.children[line - 1]?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function changed(typed) {
  state.text = input.value;
  const count = state.text.split("\n").length;
  colour(typed);
  while (gutter.children.length < count) gutter.append(h("div", {}, String(gutter.children.length + 1)));
  while (gutter.children.length > count) gutter.lastChild.remove();
  if (typed) state.findings = [];
  draw();
  tell(typed ? "typed" : "replaced");
}

// Of a long text the colours follow when the fingers rest: a key must not wait for them.
function colour(typed) {
  clearTimeout(later);
  if (typed && state.text.length > LONG) {
    paint.textContent = `${state.text}\n`;
    later = setTimeout(() => colour(false), 300);
  } else paint.innerHTML = `${metal(state.text)}\n`;
}

function lineOf(offset) {
  return input.value.slice(0, offset).split("\n").length;
}

function place() {
  const line = lineOf(input.selectionStart);
  const column = input.selectionStart - input.value.lastIndexOf("\n", input.selectionStart - 1);
  tell("cursor", { line, column });
}

// Where a column is on the screen, in characters: tabs take more than one.
function across(text, column) {
  let at = 0;
  for (const mark of text.slice(0, column)) at += mark === "\t" ? TAB - (at % TAB) : 1;
  return at;
}

function noted() {
  const here = state.diagnostics.filter((one) => one.here && one.line);
  const found = state.findings.filter((one) => one.here && one.location?.line);
  const others = found
    .filter((one) => one.other?.location && one.other.location.line !== one.location.line)
    .map((one) => ({ line: one.other.location.line, column: one.other.location.column, severity: one.severity, quiet: true }));
  return [
    ...here.map((one) => ({ ...one, what: one.message })),
    ...found.map((one) => ({ line: one.location.line, column: one.location.column, length: 0, severity: one.severity, rule: one.rule, what: one.message, finding: one })),
    ...others,
  ];
}

function draw() {
  const lines = state.text.split("\n");
  const notes = noted().filter((note) => note.line <= lines.length);
  const by = new Map();
  for (const note of notes) by.set(note.line, [...(by.get(note.line) ?? []), note]);
  marks.replaceChildren();
  lenses.replaceChildren();
  for (const number of gutter.querySelectorAll("[class]")) number.removeAttribute("class");
  for (const [line, here] of by) gutter.children[line - 1]?.setAttribute("class", worst(here));
  if (state.linked) marks.append(band(state.linked, "linked"));
  for (const [line, here] of by) {
    marks.append(band(line, worst(here)));
    for (const note of here) if (note.column && !note.quiet) marks.append(squiggle(lines[line - 1], note));
    const told = here.filter((note) => note.what);
    if (told.length) lenses.append(lens(lines[line - 1], line, told));
  }
}

function worst(notes) {
  return notes?.map((note) => note.severity).sort((a, b) => RANK[a] - RANK[b])[0] ?? "";
}

function band(line, kind) {
  return h("div", { class: `band ${kind}`, style: `top: calc(${line - 1} * var(--line))` });
}

function squiggle(text, note) {
  const word = /^[\w.]+(\[[^\]]*\])?|^./.exec(text.slice(note.column - 1));
  const from = across(text, note.column - 1), to = across(text, note.column - 1 + Math.max(note.length, word?.[0].length ?? 1));
  return h("div", { class: `squiggle ${note.severity}`, style: `top: calc(${note.line - 1} * var(--line)); left: ${from}ch; width: ${Math.max(1, to - from)}ch` });
}

function lens(text, line, told) {
  const more = told.length > 1 ? ` and ${told.length - 1} more` : "";
  return h(
    "button",
    { class: `lens ${worst(told)}`, type: "button", title: told.map((note) => note.what).join("\n"), style: `top: calc(${line - 1} * var(--line)); left: ${across(text, text.length) + 2}ch`, onclick: () => tell("lens", told[0]) },
    told[0].rule ? h("b", {}, told[0].rule) : "",
    told[0].what + more,
  );
}
