// Which thread wrote which element: the map that the check page draws.
import { empty, h } from "./dom.js";
import { state } from "./state.js";

export function drawWriters(panel) {
  const result = state.result;
  if (!result || result.error || !result.maps) {
    panel.replaceChildren(empty("Who wrote what", "Run the kernel to see which thread wrote each element of its outputs, and which nobody wrote."));
    return;
  }
  panel.replaceChildren(h("div", { class: "writers", html: result.maps }));
}
