// How fast it is, and how near the limits of this machine.
import { call } from "./api.js";
import { empty, h, svg } from "./dom.js";
import { currentForm } from "./launch.js";
import { state } from "./state.js";

const W = 640, H = 330, LEFT = 54, RIGHT = 18, TOP = 16, BOTTOM = 44;

export function drawRoofline(panel) {
  const start = h("button", { class: "plain", type: "button", id: "measure", onclick: () => measured(panel, start) }, "Measure this launch");
  const words = empty("Roofline", "Times the launch, counts its work, and shows how near it comes to what this machine can do. It takes a few seconds.");
  words.append(start);
  panel.replaceChildren(words);
}

async function measured(panel, start) {
  start.disabled = true;
  start.textContent = "Measuring";
  const found = await call("measure", { text: state.text, lesson: Boolean(state.lesson), ...currentForm() });
  if (found.error) {
    const words = empty("It could not be measured", found.error);
    words.append(start);
    panel.replaceChildren(words);
    start.disabled = false;
    start.textContent = "Try again";
    return;
  }
  const again = h("button", { class: "plain", type: "button", onclick: () => measured(panel, again) }, "Measure again");
  const figures = [
    ["median", time(found.median)], ["runs", found.runs.toLocaleString("en")], ["memory", `${round(found.bandwidth / 1e9)} GB/s`],
    ["arithmetic", `${round(found.rate / 1e9)} GFLOP/s`], ["limited by", found.limit], ["of the limit", `${(found.share * 100).toFixed(0)}%`],
  ];
  panel.replaceChildren(
    h("div", { class: "figures" }, figures.map(([name, value]) => h("div", { class: "figure" }, h("span", {}, name), h("b", {}, value)))),
    h("div", { class: "card" }, h("div", { class: "scroller" }, chart(found))),
    h("div", { class: "switch" }, h("p", { class: "legend" }, words(found)), again),
  );
}

function words(found) {
  const machine = `${found.machine.name}: ${(found.machine.bandwidth / 1e9).toFixed(1)} GB/s, ${(found.machine.peak / 1e9).toFixed(0)} GFLOP/s, measured just before.`;
  return found.share > 1.1 ? `${machine} Above 100%: the data stayed in the caches.` : machine;
}

const round = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(2));

function time(seconds) {
  if (seconds < 1e-3) return `${(seconds * 1e6).toFixed(1)} µs`;
  return seconds < 1 ? `${(seconds * 1e3).toFixed(2)} ms` : `${seconds.toFixed(2)} s`;
}

function chart(found) {
  const { bandwidth, peak } = found.machine;
  const ridge = peak / bandwidth, log = Math.log10;
  const at = Math.max(found.intensity, 1e-3), rate = Math.max(found.rate, 1);
  const lowX = Math.floor(log(Math.min(at, ridge / 10))), highX = Math.ceil(log(Math.max(at, ridge * 10)));
  const highY = Math.ceil(log(peak * 1.2)), lowY = Math.min(Math.floor(log(rate)), Math.floor(log(bandwidth * 10 ** lowX)));
  const x = (value) => LEFT + ((log(value) - lowX) / (highX - lowX)) * (W - LEFT - RIGHT);
  const y = (value) => H - BOTTOM - ((log(value) - lowY) / (highY - lowY)) * (H - TOP - BOTTOM);
  const roof = (value) => Math.min(peak, bandwidth * value);
  const made = svg("svg", { class: "roofline", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "roofline" });
  const text = (attributes, words) => { const one = svg("text", attributes); one.textContent = words; made.append(one); };
  for (let p = lowX; p <= highX; p++) {
    made.append(svg("line", { class: "grid", x1: x(10 ** p), x2: x(10 ** p), y1: TOP, y2: H - BOTTOM }));
    text({ x: x(10 ** p), y: H - BOTTOM + 18, "text-anchor": "middle" }, String(Number((10 ** p).toPrecision(3))));
  }
  for (let p = lowY; p <= highY; p++) {
    made.append(svg("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y(10 ** p), y2: y(10 ** p) }));
    text({ x: LEFT - 8, y: y(10 ** p) + 4, "text-anchor": "end" }, String(Number((10 ** (p - 9)).toPrecision(3))));
  }
  const corners = [10 ** lowX, ridge, 10 ** highX].map((one) => `${x(one)},${y(roof(one))}`).join(" ");
  made.append(svg("polygon", { class: "under", points: `${corners} ${x(10 ** highX)},${H - BOTTOM} ${x(10 ** lowX)},${H - BOTTOM}` }), svg("polyline", { class: "roof", points: corners }));
  made.append(svg("line", { class: "drop", x1: x(at), x2: x(at), y1: y(roof(at)), y2: y(rate) }), svg("circle", { class: "dot", cx: x(at), cy: y(rate), r: 6 }));
  const right = x(at) < W * 0.65;
  text({ class: "label", x: x(at) + (right ? 12 : -12), y: y(rate) + 4, "text-anchor": right ? "start" : "end" }, `${found.kernel}, ${(found.share * 100).toFixed(0)}%`);
  text({ x: (LEFT + W) / 2, y: H - 6, "text-anchor": "middle" }, "operations per byte");
  text({ transform: `translate(13 ${H / 2}) rotate(-90)`, "text-anchor": "middle" }, "GFLOP/s");
  return made;
}
