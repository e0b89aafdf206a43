// What the parts of the page share, and how they hear of changes.
export const state = {
  text: "",
  lesson: null, // the lesson that is open, as the server tells it
  mended: false, // whether its mended kernel is shown
  kernels: [], // with their parameters; of a text with many, only the one that is chosen
  names: [],
  chosen: "", // the kernel's name
  diagnostics: [],
  findings: [],
  result: null,
  stages: [],
  linked: 0, // the line of the source that a generated text points at
};

const heard = {};

export function on(event, listener) {
  (heard[event] ??= []).push(listener);
}

export function tell(event, detail) {
  for (const listener of heard[event] ?? []) listener(detail);
}
