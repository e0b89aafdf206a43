// The source: a textarea over a painted copy, with marks for mistakes and findings.
import { $, h } from "./dom.js";
import { keys } from "./keys.js";
import { on, state, tell } from "./state.js";
import { gutter, lineAt, lineCount, lineText, openView, paint, setMarked, setView, show, startOf } from "./view.js";

export { show };
const RANK = { error: 0, warning: 1, note: 2 };
const input = h("textarea", { class: "type-here", id: "source", spellcheck: "false", wrap: "off", "aria-label": "Metal source", autocapitalize: "off", autocomplete: "off" });
const marks = h("div", { class: "marks", "aria-hidden": "true" });
const lenses = h("div", { class: "lenses" });

export function openEditor() {
  const page = h("div", { class: "page" }, marks, paint, input, lenses);
  $("editor").append(h("div", { class: "sheet" }, gutter, page));
  openView($("editor"), page);
  input.addEventListener("input", () => changed(true));
  input.addEventListener("keydown", (event) => keys(event, input));
  document.addEventListener("selectionchange", () => document.activeElement === input && place());
  gutter.addEventListener("click", (event) => {
    if (event.target !== gutter) tell("line", Number(event.target.textContent));
  });
  input.addEventListener("click", () => tell("line", lineAt(input.selectionStart)));
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
  const at = startOf(line) + units(lineText(line), column - 1);
  input.focus({ preventScroll: true });
  input.setSelectionRange(at, at);
  show(line);
  place();
}

function changed(typed) {
  state.text = input.value;
  setView(state.text);
  if (typed) state.findings = [];
  draw();
  tell(typed ? "typed" : "replaced");
}

function place() {
  const line = lineAt(input.selectionStart);
  tell("cursor", { line, column: [...input.value.slice(startOf(line), input.selectionStart)].length + 1 });
}

// Columns count characters; a string of JavaScript counts two for some of them.
const units = (text, characters) => [...text].slice(0, Math.max(0, characters)).join("").length;

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
  const notes = noted().filter((note) => note.line <= lineCount());
  const by = new Map();
  for (const note of notes) by.set(note.line, [...(by.get(note.line) ?? []), note]);
  marks.replaceChildren();
  lenses.replaceChildren();
  setMarked(new Map([...by].map(([line, here]) => [line, worst(here)])));
  if (state.linked) marks.append(band(state.linked, "linked"));
  for (const [line, here] of by) {
    marks.append(band(line, worst(here)));
    for (const note of here) if (note.column && !note.quiet) marks.append(squiggle(lineText(line), note));
    const told = here.filter((note) => note.what);
    if (told.length) lenses.append(lens(lineText(line), line, told));
  }
}

function worst(notes) {
  return notes?.map((note) => note.severity).sort((a, b) => RANK[a] - RANK[b])[0] ?? "";
}

function band(line, kind) {
  return h("div", { class: `band ${kind}`, style: `top: calc(${line - 1} * var(--line))` });
}

// Marks stand behind an unseen copy of the line's text: tabs and wide letters take what they take in the source.
function behind(line, text, mark) {
  return h("div", { class: "behind", style: `top: calc(${line - 1} * var(--line))` }, h("i", {}, text), mark);
}

function squiggle(text, note) {
  const from = units(text, note.column - 1), word = /^[\w.]+(\[[^\]]*\])?|^./u.exec(text.slice(from));
  const under = text.slice(from, from + Math.max(units(text.slice(from), note.length), word?.[0].length ?? 1)) || " ";
  return behind(note.line, text.slice(0, from), h("span", { class: `squiggle ${note.severity}` }, under));
}

function lens(text, line, told) {
  const more = told.length > 1 ? ` and ${told.length - 1} more` : "";
  const button = h(
    "button",
    { class: `lens ${worst(told)}`, type: "button", title: told.map((note) => note.what).join("\n"), onclick: () => tell("lens", told[0]) },
    told[0].rule ? h("b", {}, told[0].rule) : "",
    told[0].what + more,
  );
  return behind(line, `${text}  `, button);
}
