// Run the kernel, checked, and give its result to whoever shows it.
import { call } from "./api.js";
import { $ } from "./dom.js";
import { diagnose } from "./diagnose.js";
import { currentForm } from "./launch.js";
import { on, state, tell } from "./state.js";
import { badge, isOpen, showTab, stale } from "./tabs.js";

let busy = false, waiting = false;

export function openRun() {
  $("run").addEventListener("click", run);
  on("run", run);
  on("typed", () => $("panels").classList.toggle("old", Boolean(state.result)));
  on("replaced", () => $("panels").classList.remove("old"));
  on("run-when-read", () => (waiting = true));
  on("diagnostics", () => waiting && ((waiting = false), run(true)));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
}

async function run(quietly = false) {
  if (busy) return;
  busy = true;
  $("run").setAttribute("aria-busy", "true");
  tell("status", { kind: "busy", words: "running" });
  if (quietly !== true) await diagnose();
  const text = state.text;
  const result = await call("launch", { text, lesson: Boolean(state.lesson), ...currentForm() });
  busy = false;
  $("run").setAttribute("aria-busy", "false");
  if (state.text !== text) return; // it is another kernel's
  state.result = result;
  $("panels").classList.remove("old");
  state.findings = result.findings ?? [];
  tell("findings");
  stale("result", "findings", "writers", "roofline");
  const worst = ["error", "warning", "note"].find((kind) => state.findings.some((one) => one.severity === kind));
  badge("findings", state.findings.length, worst);
  if (result.error) tell("status", { kind: "bad", words: result.error.split("\n")[0] });
  else tell("status", { kind: worst === "error" ? "bad" : worst === "warning" ? "warn" : "good", words: result.summary.split("\n")[0] });
  if (quietly !== true && matchMedia("(max-width: 860px)").matches) $("tabs").scrollIntoView({ behavior: "smooth" });
  if (quietly !== true && (result.error || !isOpen("findings") || !state.findings.length)) showTab(worst === "error" || worst === "warning" ? "findings" : "result");
  else if (quietly === true && state.lesson && state.findings.length && !state.mended) showTab("findings");
}
