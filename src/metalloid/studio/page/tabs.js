// Tabs and the panel under them; a panel is drawn when it is looked at.
import { $, h } from "./dom.js";

const tabs = {};
let open = "";

export function addTab(name, title, draw) {
  const button = h("button", { class: "tab", role: "tab", id: `tab-${name}`, type: "button", "aria-selected": "false", onclick: () => showTab(name) }, title);
  const panel = h("div", { class: `panel ${name}`, role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true });
  tabs[name] = { button, panel, draw, title, stale: true };
  $("tabs").append(button);
  $("panels").append(panel);
}

export function showTab(name) {
  open = name;
  for (const [other, tab] of Object.entries(tabs)) {
    tab.button.setAttribute("aria-selected", String(other === name));
    tab.panel.hidden = other !== name;
  }
  refresh(name);
}

export function stale(...names) {
  for (const name of names) {
    tabs[name].stale = true;
    if (name === open) refresh(name);
  }
}

export const isOpen = (name) => name === open;

export function badge(name, count, kind) {
  tabs[name].button.replaceChildren(tabs[name].title, count ? h("span", { class: `count ${kind}` }, String(count)) : "");
}

function refresh(name) {
  const tab = tabs[name];
  if (!tab.stale) return;
  tab.stale = false;
  tab.draw(tab.panel);
}
