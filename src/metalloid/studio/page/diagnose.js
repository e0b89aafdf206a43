// Mistakes as you type: the text goes to the studio when the fingers rest, and only the last answer counts.
import { call } from "./api.js";
import { $, coded, h, sentence } from "./dom.js";
import { goTo } from "./editor.js";
import { on, state, tell } from "./state.js";

const REST = 220; // milliseconds
const PILLS = { error: "bad", warning: "warn", note: "note" };
let timer = 0, asked = 0;

export function watchTyping() {
  on("typed", () => {
    tell("status", { kind: "busy", words: "reading" });
    clearTimeout(timer);
    timer = setTimeout(diagnose, REST);
  });
  on("replaced", diagnose);
  on("choose", diagnose);
  on("diagnostics", list);
}

export async function diagnose() {
  clearTimeout(timer);
  const mine = ++asked;
  const answer = await call("diagnose", { text: state.text, lesson: Boolean(state.lesson), kernel: state.chosen });
  if (mine !== asked || answer.superseded) return;
  if (answer.error) {
    tell("status", { kind: "bad", words: answer.error });
    return;
  }
  state.diagnostics = answer.diagnostics;
  if (answer.kernels.length || !answer.diagnostics.some((one) => one.severity === "error")) {
    state.kernels = answer.kernels;
    state.names = answer.names;
    tell("kernels");
  }
  tell("diagnostics");
}

function list() {
  const told = state.diagnostics;
  $("problems").replaceChildren(
    ...told.map((one) =>
      h(
        "button",
        { class: `problem ${one.severity}`, type: "button", onclick: () => one.here && goTo(one.line || 1, one.column || 1) },
        h("span", { class: `pill ${PILLS[one.severity]}` }, one.rule || one.severity),
        h("span", {}, sentence(one.message)),
        h("small", {}, one.line ? `${one.here ? "" : `${one.file}:`}${one.line}${one.column ? `:${one.column}` : ""}` : ""),
        one.hint ? h("p", {}, coded(one.hint)) : "",
      ),
    ),
  );
  const errors = told.filter((one) => one.severity === "error").length;
  const count = state.names.length;
  const words = errors ? `${errors} mistake${errors > 1 ? "s" : ""}` : `no mistakes, ${count} kernel${count === 1 ? "" : "s"}`;
  tell("status", { kind: errors ? "bad" : "good", words });
}
