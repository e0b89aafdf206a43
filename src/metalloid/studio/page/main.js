// The studio: puts the parts together and opens the file, or a lesson.
import { call } from "./api.js";
import { watchTyping } from "./diagnose.js";
import { $, h } from "./dom.js";
import { goTo, openEditor, setText } from "./editor.js";
import { drawFindings } from "./findings.js";
import { drawLearn, openGallery, openLesson } from "./gallery.js";
import { openLaunch } from "./launch.js";
import { drawResult } from "./result.js";
import { drawRoofline } from "./roofline.js";
import { openRun } from "./run.js";
import { drawStages, watchStages } from "./stages.js";
import { on, state, tell } from "./state.js";
import { addTab, showTab } from "./tabs.js";
import { openTheme } from "./theme.js";
import { drawWriters } from "./writers.js";

let saved = "", file = "", version = "", said = { kind: "", words: "" }, cursor = { line: 1, column: 1 };

function status() {
  $("status").replaceChildren(
    h("span", { class: `state ${said.kind}`, id: "state" }, h("i"), said.words),
    h("span", { class: "space" }),
    h("span", {}, `${cursor.line}:${cursor.column}`),
    h("span", {}, `metalloid ${version}`),
  );
}

function title() {
  const { lesson, mended } = state;
  $("name").replaceChildren(...(lesson ? [h("b", {}, lesson.title), mended ? ", mended" : ""] : [h("b", {}, file)]));
  document.title = `${lesson ? lesson.title : file} - metalloid studio`;
  $("save").hidden = !file || Boolean(lesson);
  $("dirty").hidden = Boolean(lesson) || !file || state.text === saved;
}

async function save(over = false) {
  if ($("save").hidden) return;
  const text = state.text;
  const answer = await call("save", { text, over });
  if (answer.changed && confirm(`${answer.error}. Write over it?`)) return save(true);
  if (answer.saved) saved = text;
  tell("status", answer.saved ? { kind: "good", words: `saved ${file}` } : { kind: "bad", words: answer.error });
  return title();
}

function divider() {
  const bar = $("divider"), main = bar.parentElement;
  const move = (event) => main.style.setProperty("--left", `${Math.min(80, Math.max(20, (event.clientX / innerWidth) * 100))}%`);
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    bar.classList.add("held");
    bar.addEventListener("pointermove", move);
  });
  bar.addEventListener("pointerup", () => {
    bar.classList.remove("held");
    bar.removeEventListener("pointermove", move);
  });
}

function lens(note) {
  if (!note.finding) return goTo(note.line, note.column || 1);
  showTab("findings");
  return $(`finding-${state.findings.indexOf(note.finding) + 1}`)?.scrollIntoView({ block: "center" });
}

async function start() {
  openTheme();
  openEditor();
  openLaunch();
  openGallery();
  openRun();
  watchTyping();
  watchStages();
  divider();
  addTab("result", "Result", drawResult);
  addTab("findings", "Findings", drawFindings);
  addTab("writers", "Who wrote what", drawWriters);
  addTab("roofline", "Roofline", drawRoofline);
  addTab("stages", "Stages", drawStages);
  addTab("learn", "Learn", drawLearn);
  on("status", (one) => { said = one; status(); });
  on("cursor", (one) => { cursor = one; status(); });
  on("typed", title);
  on("title", title);
  on("lens", lens);
  $("save").addEventListener("click", () => save());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    save();
  });
  addEventListener("beforeunload", (event) => $("dirty").hidden || event.preventDefault());
  showTab("result");
  const opened = await call("open");
  if (opened.error) return tell("status", { kind: "bad", words: opened.error });
  state.stages = opened.stages;
  version = opened.version;
  file = opened.name;
  saved = opened.text ?? "";
  if (!file) return openLesson(opened.lesson);
  setText(saved);
  return title();
}

start();
