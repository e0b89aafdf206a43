// What is wrong, as cards: both places of a race, its timeline, what to do.
import { coded, empty, h, sentence } from "./dom.js";
import { goTo } from "./editor.js";
import { state, tell } from "./state.js";

export function drawFindings(panel) {
  const result = state.result;
  if (!result || result.error) {
    panel.replaceChildren(empty("No findings to show", "Run the kernel: every launch here is checked."));
    return;
  }
  if (!result.findings.length) {
    panel.replaceChildren(empty("No findings", `${result.threads.toLocaleString("en")} threads were watched: every access, every barrier, every number.`));
    return;
  }
  panel.replaceChildren(...result.findings.map(card));
}

function card(one, n) {
  const times = one.count > 1 ? `, ${one.count.toLocaleString("en")} times in all` : "";
  const verb = one.other && /^(read|write)$/.test(one.what) ? `${one.what} by ` : "";
  const sides = [spot(one.location, one.excerpt, verb + who(one), one.here)];
  if (one.other) sides.push(spot(one.other.location, one.other.excerpt, `${one.other.what} ${who(one.other)}`, one.here));
  return h(
    "article",
    { class: `card finding ${one.severity}`, id: `finding-${n + 1}` },
    h("h3", {}, h("button", { class: "rule", type: "button", title: "what this rule means", onclick: () => tell("learn", one.rule) }, one.rule), sentence(one.message)),
    h("p", { class: "where" }, [one.kernel && `in ${one.kernel}`, one.buffer && `memory '${one.buffer}'`].filter(Boolean).join(", ") + times),
    h("div", { class: "sides" }, sides.filter(Boolean)),
    one.timeline ? h("div", { class: "scroller", html: one.timeline }) : "",
    one.hint ? h("p", { class: "hint" }, h("b", {}, "Hint"), coded(one.hint)) : "",
  );
}

function who(side) {
  const parts = [side.thread && `thread (${side.thread})`, side.threadgroup && `threadgroup (${side.threadgroup})`];
  return parts.filter(Boolean).join(", ").replaceAll(",", ", ").replaceAll(",  ", ", ");
}

function spot(location, excerpt, words, here) {
  if (!location) return null;
  const go = () => here && goTo(location.line, location.column || 1);
  return h("button", { class: "spot", type: "button", onclick: go }, h("small", {}, `line ${location.line}${words ? `: ${words}` : ""}`), h("code", {}, excerpt));
}
