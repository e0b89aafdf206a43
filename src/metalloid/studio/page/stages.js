// Generated texts, beside the source: a line here marks its source line there, and the other way round.
import { call } from "./api.js";
import { empty, h } from "./dom.js";
import { show } from "./editor.js";
import { machine, metal } from "./highlight.js";
import { currentForm } from "./launch.js";
import { on, state, tell } from "./state.js";
import { isOpen, stale } from "./tabs.js";

const ROW = 18, SPARE = 30;
const WORDS = {
  metal: "what you wrote", rewritten: "the C++ that clang reads", ll: "scalar LLVM IR: one thread", "canon.ll": "in canonical form",
  "regions.ll": "divided at its barriers", "vec.ll": "vector code: many threads at once", asm: "machine code of this processor", ptx: "code for an NVIDIA GPU",
};
let chosen = "ll", asked = 0, view = null, text = [], lines = [];

export function watchStages() {
  on("line", (line) => isOpen("stages") && fromSource(line));
  on("diagnostics", () => stale("stages"));
  on("form", () => stale("stages"));
}

export async function drawStages(panel) {
  const buttons = state.stages.map((name) => h("button", { class: "choice", type: "button", title: WORDS[name] ?? name, "aria-pressed": String(name === chosen), onclick: () => { chosen = name; stale("stages"); } }, name));
  const legend = h("span", { class: "legend" }, WORDS[chosen] ?? "");
  view = h("div", { class: "listing", tabindex: "0", "aria-label": chosen });
  panel.replaceChildren(h("div", { class: "stagebar" }, buttons, legend), view);
  if (state.diagnostics.some((one) => one.severity === "error") || !state.kernels.length) {
    view.replaceChildren(empty("No code yet", "The text has to compile first."));
    return;
  }
  view.replaceChildren(empty("Compiling", chosen));
  const mine = ++asked;
  const { kernel, threadgroup } = currentForm();
  const answer = await call("stage", { text: state.text, lesson: Boolean(state.lesson), stage: chosen, kernel, threadgroup });
  if (mine !== asked) return;
  if (answer.error || answer.missing) {
    view.replaceChildren(empty(answer.error ? "It could not be made" : "There is no such code", answer.error || answer.missing));
    return;
  }
  text = answer.text.replace(/\n$/, "").split("\n");
  lines = answer.lines;
  const known = new Set(lines.filter(Boolean)).size;
  legend.textContent = `${WORDS[chosen] ?? ""}; ${text.length.toLocaleString("en")} lines${known ? ", click one to see where it comes from" : ""}`;
  listing();
}

// Only the rows that can be seen are made: machine code has many thousand.
function listing() {
  const rows = h("div", { class: "rows" });
  const longest = Math.min(400, Math.max(...text.map((line) => line.length)));
  const room = h("div", { style: `height: ${text.length * ROW + 12}px; width: calc(${longest}ch + 70px)` });
  view.replaceChildren(room, rows);
  const paint = () => {
    const first = Math.max(0, Math.floor(view.scrollTop / ROW) - SPARE);
    const last = Math.min(text.length, Math.ceil((view.scrollTop + view.clientHeight) / ROW) + SPARE);
    rows.style.top = `${first * ROW}px`;
    rows.replaceChildren(...text.slice(first, last).map((line, n) => row(line, first + n)));
  };
  view.onscroll = paint;
  const first = lines.findIndex((line) => line && (!state.linked || line === state.linked));
  view.scrollTop = first * ROW > view.clientHeight / 2 ? (first - 3) * ROW : 0; // past declarations and helpers
  paint();
}

function row(line, n) {
  const from = lines[n] ?? 0;
  const shown = line.length > 400 ? `${line.slice(0, 400)} ...` : line;
  return h(
    "div",
    { class: `row ${from && from === state.linked ? "linked" : ""}`, "data-line": String(n + 1), onclick: () => from && link(from, true) },
    h("span", { class: "at" }, from ? String(from) : ""),
    h("span", { html: chosen === "metal" || chosen === "rewritten" ? metal(shown) : machine(shown) }),
  );
}

function link(line, fromHere) {
  state.linked = line;
  tell("linked");
  if (fromHere) show(line);
  view?.onscroll?.();
}

function fromSource(line) {
  const at = lines.indexOf(line);
  if (at >= 0 && view) view.scrollTop = Math.max(0, at * ROW - view.clientHeight / 3);
  link(at >= 0 ? line : 0, false);
}
