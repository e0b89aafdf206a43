// Broken kernels to learn from, and the page that explains the one that is open.
import { call } from "./api.js";
import { $, coded, empty, h } from "./dom.js";
import { setText } from "./editor.js";
import { metal } from "./highlight.js";
import { setForm } from "./launch.js";
import { on, state, tell } from "./state.js";
import { showTab, stale } from "./tabs.js";

let lessons = [], page = "", told = "";

export function openGallery() {
  $("open-gallery").addEventListener("click", show);
  $("gallery").addEventListener("click", (event) => event.target === $("gallery") && $("gallery").close());
  on("learn", learn);
}

async function show() {
  if (!lessons.length) lessons = (await call("gallery")).lessons ?? [];
  const families = [...new Set(lessons.map((one) => one.family))];
  const close = h("button", { class: "plain", type: "button", onclick: () => $("gallery").close() }, "Close");
  $("gallery").replaceChildren(
    h("header", {}, h("div", {}, h("h2", {}, "Broken kernels to learn from"), h("p", {}, "Each runs, and each is wrong. See what the checker says, then mend it.")), close),
    ...families.flatMap((family) => [h("h3", {}, family), h("div", { class: "lessons" }, lessons.filter((one) => one.family === family).map(card))]),
  );
  $("gallery").showModal();
}

function card(one) {
  return h("button", { class: "lesson", type: "button", "data-rule": one.rule, onclick: () => { $("gallery").close(); openLesson(one.rule); } }, h("small", {}, one.rule), h("b", {}, one.title), h("p", {}, coded(one.first)));
}

export async function openLesson(rule, mended = false) {
  const lesson = await call("lesson", { rule });
  if (lesson.error) return tell("status", { kind: "bad", words: lesson.error });
  state.lesson = lesson;
  state.mended = mended;
  page = lesson.page;
  told = lesson.rule;
  put();
  showTab("learn");
}

function put() {
  const { lesson, mended } = state;
  state.result = null;
  state.findings = [];
  setForm(mended ? lesson.mended_form : lesson.form);
  tell("title");
  setText(mended ? lesson.mended : lesson.text);
  stale("learn");
  tell("run-when-read");
}

async function learn(rule) {
  if (told !== rule) page = (await call("rule", { rule })).page ?? "";
  told = rule;
  stale("learn");
  showTab("learn");
}

export function drawLearn(panel) {
  if (!page) {
    panel.replaceChildren(empty("What the rules mean", "Click the number of a finding, or open a kernel of the gallery."));
    return;
  }
  const lesson = state.lesson?.rule === told ? state.lesson : null;
  const text = h("div", { class: "card learn", html: page });
  const folded = text.querySelector("details");
  if (folded) folded.open = true;
  for (const one of text.querySelectorAll("pre")) one.innerHTML = metal(one.textContent);
  panel.replaceChildren(...(lesson ? [lessonBar()] : []), text);
}

function lessonBar() {
  const swap = () => { state.mended = !state.mended; put(); showTab("learn"); };
  const words = state.mended ? "This is the mended kernel: run it and see that nothing is found." : "This kernel is broken on purpose. Try to mend it yourself first.";
  return h("div", { class: "card switch" }, h("p", {}, words), h("button", { class: "plain", type: "button", id: "swap", onclick: swap }, state.mended ? "Back to the broken one" : "Show the mended one"));
}
