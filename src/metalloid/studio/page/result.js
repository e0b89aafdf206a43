// What came out: a verdict, and each array with its figures, a line and its values.
import { coded, empty, h, sentence, svg } from "./dom.js";
import { state } from "./state.js";
import { showTab } from "./tabs.js";

export function drawResult(panel) {
  const result = state.result;
  if (!result) {
    panel.replaceChildren(empty("Nothing has run yet", "Run the kernel to see what it computes. Ctrl+Enter does it, too."));
    return;
  }
  if (result.error) {
    panel.replaceChildren(verdict("bad", "!", result.stopped ? "It was stopped" : "It could not be run", result.error));
    return;
  }
  const outputs = [...result.arrays].sort((a, b) => b.output - a.output);
  panel.replaceChildren(head(result), ...outputs.filter((one) => one.output).map(card), ...(result.why ? [why(result.why)] : []), ...outputs.filter((one) => !one.output).map(card), ...(result.logs.length ? [logs(result.logs)] : []));
}

export function verdict(kind, sign, title, words, button = "") {
  return h("div", { class: `verdict ${kind}` }, h("span", { class: "sign" }, sign), h("div", {}, h("b", {}, title), h("span", {}, words)), button);
}

function head(result) {
  const bad = result.findings.filter((one) => one.severity !== "note");
  const time = `${result.threads.toLocaleString("en")} threads checked in ${(result.milliseconds / 1000).toFixed(1)} s`;
  const more = [time, result.stopped_early && `stopped early: ${result.stopped_early}`, ...result.left].filter(Boolean).join("\n");
  const look = h("button", { class: "plain", type: "button", onclick: () => showTab("findings") }, "See why");
  if (bad.length) return verdict("bad", String(bad.length), bad.length > 1 ? `${bad.length} findings` : sentence(bad[0].message), more, look);
  if (result.findings.length) return verdict("note", "i", "Right, and could cost less", more, look);
  return verdict("good", "✓", "No findings", more);
}

function why({ subject, links }) {
  const rows = links.map((link) =>
    h("li", { class: link.holds ? "good" : "bad" }, h("i", {}, link.holds ? "✓" : "✗"), h("div", {}, h("span", {}, link.said), link.hint && !link.holds ? h("p", {}, coded(link.hint)) : "")),
  );
  return h("div", { class: "card why" }, h("b", {}, sentence(subject)), h("ol", {}, rows));
}

function logs(lines) {
  return h("div", { class: "card logs" }, h("div", { class: "head" }, h("h3", {}, "What the kernel said")), h("pre", {}, lines.join("\n")));
}

function card(one) {
  const facts = [["low", one.low], ["high", one.high], ["mean", one.mean]].filter(([, value]) => value !== null);
  const pills = [
    one.untouched && h("span", { class: "pill bad" }, `${one.untouched.toLocaleString("en")} never written`),
    one.nan && h("span", { class: "pill warn" }, `${one.nan.toLocaleString("en")} NaN`),
    one.infinite && h("span", { class: "pill warn" }, `${one.infinite.toLocaleString("en")} infinite`),
  ].filter(Boolean);
  return h(
    "div",
    { class: "card array", id: `array-${one.name}` },
    h("div", { class: "head" }, h("h3", {}, one.name), h("span", { class: "pill" }, `${one.dtype} ${one.shape.join(" x ")}`), one.output ? h("span", { class: "pill note" }, "written") : "", pills),
    one.size > 1 && facts.length ? h("div", { class: "facts" }, facts.map(([name, value]) => h("span", {}, `${name} `, h("b", {}, shown(value))))) : "",
    one.size > 3 ? spark(one.line) : "",
    values(one),
  );
}

export function shown(value) {
  return Number.isInteger(value) && Math.abs(value) < 1e9 ? String(value) : Number(value).toPrecision(5);
}

function values(one) {
  const cells = one.values.map((value, n) =>
    h("div", { class: value === null ? "never" : /nan|inf/.test(value) ? "odd" : "", title: value === null ? `${one.name}[${n}] was never written` : `${one.name}[${n}] = ${value}` }, h("i", {}, String(n)), value ?? "—"),
  );
  const more = one.size - one.values.length;
  return h("div", { class: "values" }, cells, more > 0 ? h("div", {}, h("i", {}, "and"), `${more.toLocaleString("en")} more`) : "");
}

function spark(line) {
  const good = line.filter(Boolean);
  const made = svg("svg", { class: "spark", viewBox: "0 0 160 56", preserveAspectRatio: "none", "aria-hidden": "true" });
  if (!good.length) return made;
  const low = Math.min(...good.map((one) => one[0])), high = Math.max(...good.map((one) => one[1]));
  const x = (n) => (line.length > 1 ? (n / (line.length - 1)) * 160 : 80);
  const y = (value) => (high > low ? 50 - ((value - low) / (high - low)) * 44 : 28);
  const step = 160 / line.length;
  line.forEach((one, n) => one || made.append(svg("rect", { class: "gap", x: n * step, y: 0, width: step, height: 56 })));
  const over = [], under = [];
  line.forEach((one, n) => {
    if (!one) return;
    over.push(`${x(n).toFixed(1)},${y(one[1]).toFixed(1)}`);
    under.unshift(`${x(n).toFixed(1)},${y(one[0]).toFixed(1)}`);
  });
  made.append(svg("path", { d: `M${over.join("L")}L${under.join("L")}Z` }));
  return made;
}
