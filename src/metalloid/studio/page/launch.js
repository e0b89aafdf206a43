// The launch form: it follows the kernel's parameters, and keeps what was typed for names that stay.
import { $, h } from "./dom.js";
import { on, state, tell } from "./state.js";

const FILLS = { random: "random", arange: "0, 1, 2, ...", ones: "ones", zeros: "zeros", full: "one value", cycle: "0 to n-1, again", output: "not set" };
const WITH_VALUE = { full: "value", cycle: "n", random: "seed" };
const form = { grid: "1024", threadgroup: "256", inputs: {}, local: {} };
let drawn = "";

export function openLaunch() {
  on("kernels", draw);
  $("launch").addEventListener("submit", (event) => {
    event.preventDefault();
    tell("run");
  });
}

export function setForm(given) {
  state.chosen = "";
  Object.assign(form, { grid: given.grid, threadgroup: given.threadgroup, inputs: structuredClone(given.inputs), local: {} });
  drawn = "";
}

export function currentForm() {
  const kernel = chosen();
  const inputs = Object.fromEntries((kernel?.parameters ?? []).map((one) => [one.name, form.inputs[one.name]]));
  return { kernel: kernel?.name ?? "", grid: form.grid, threadgroup: form.threadgroup, inputs, local: form.local };
}

function chosen() {
  return state.kernels.find((one) => one.name === state.chosen) ?? state.kernels[0];
}

function draw() {
  const kernel = chosen();
  const key = JSON.stringify([kernel, state.names]);
  if (key === drawn) return;
  drawn = key;
  if (!kernel) return;
  state.chosen = kernel.name;
  for (const one of kernel.parameters) form.inputs[one.name] = fitting(one, form.inputs[one.name]);
  const size = Number.parseInt(form.threadgroup, 10);
  if (size > kernel.limit) form.threadgroup = String(kernel.limit);
  const names = state.names.map((name) => h("option", { value: name, selected: name === kernel.name }, name));
  const select = h("select", { id: "kernel", onchange: (event) => choose(event.target.value) }, names);
  $("launch").replaceChildren(
    h("div", { class: "sizes" }, field("Kernel", select), field("Grid (threads)", text("grid", form, "grid", "1024 or 64,64")), field("Threadgroup", text("threadgroup", form, "threadgroup", "chosen"))),
    h("div", { class: "arguments" }, kernel.parameters.map(argument), kernel.local.map(local)),
    h("input", { type: "submit", hidden: true }),
  );
}

function choose(name) {
  state.chosen = name;
  if (!state.kernels.some((one) => one.name === name)) return tell("choose"); // its parameters are not known yet
  draw();
  return tell("form");
}

// What was there where it fits the parameter, else a guess.
function fitting(one, had) {
  const single = one.value && one.access !== "write" && one.access !== "read_write";
  if (had && (had.fill === "value") === single) return had;
  if (single) return { fill: "value", value: one.kind === "number" ? (/float|half|bfloat/.test(one.type) ? "1.0" : form.grid.split(/[x,]/)[0]) : one.kind === "vector" ? "1, 1" : "{}" };
  const shape = one.value ? "1" : form.grid.replaceAll(",", "x");
  return { fill: one.access === "write" ? "output" : one.access === "read_write" ? "zeros" : "random", shape, value: "" };
}

function argument(one) {
  const had = form.inputs[one.name];
  const who = h("div", { class: "who", title: one.text }, h("b", {}, one.name), h("span", {}, `${one.type}${one.value ? "" : "*"}`), h("span", { class: `pill ${one.access.includes("write") ? "note" : ""}` }, one.access.replace("_", ", ")));
  if (had.fill === "value") return h("div", { class: "argument" }, who, h("div", { class: "wide" }, text(`value-${one.name}`, had, "value", one.kind === "struct" ? '{"n": 128}' : "")));
  const second = h("div", { class: "pair" });
  const fill = () => {
    const extra = WITH_VALUE[had.fill];
    second.className = `pair ${extra ? "two" : ""}`;
    second.replaceChildren(text(`shape-${one.name}`, had, "shape", "elements"), extra ? text(`value-${one.name}`, had, "value", extra) : "");
  };
  fill();
  const options = Object.entries(FILLS).map(([name, words]) => h("option", { value: name, selected: name === had.fill }, words));
  const select = h("select", { id: `fill-${one.name}`, "aria-label": `how ${one.name} is filled`, onchange: (event) => { had.fill = event.target.value; fill(); tell("form"); } }, options);
  return h("div", { class: "argument" }, who, select, second);
}

function local(one) {
  form.local[one.index] ??= "1024";
  const who = h("div", { class: "who" }, h("b", {}, one.name), h("span", {}, `${one.type}*`), h("span", { class: "pill" }, "threadgroup"));
  return h("div", { class: "argument" }, who, h("div", { class: "wide" }, text(`local-${one.index}`, form.local, one.index, "bytes")));
}

function field(words, inner) {
  return h("label", { class: "field" }, h("span", {}, words), inner);
}

function text(id, home, name, placeholder) {
  const made = h("input", { id, type: "text", placeholder, spellcheck: "false", oninput: (event) => { home[name] = event.target.value; tell("form"); } });
  made.value = home[name] ?? "";
  if (!made.closest("label")) made.setAttribute("aria-label", id.replace("-", " of "));
  return made;
}
