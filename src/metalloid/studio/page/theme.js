// Light, dark, or as the system has it.
import { $ } from "./dom.js";

const SIGNS = {
  system: '<svg viewBox="0 0 16 16"><rect x="1.5" y="2.5" width="13" height="9" rx="1.5"/><path d="M5 14h6"/></svg>',
  light: '<svg viewBox="0 0 16 16"><circle cx="8" cy="8" r="3"/><path d="M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.2 1.2M11.8 11.8 13 13M13 3l-1.2 1.2M4.2 11.8 3 13"/></svg>',
  dark: '<svg viewBox="0 0 16 16"><path d="M13.5 9.7A6 6 0 0 1 6.3 2.5a6 6 0 1 0 7.2 7.2z"/></svg>',
};
const ORDER = ["system", "light", "dark"];
const wanted = matchMedia("(prefers-color-scheme: dark)");
let theme = "system";

export function openTheme() {
  wanted.addEventListener("change", apply);
  $("theme").addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    apply();
  });
  apply();
}

function apply() {
  const dark = theme === "dark" || (theme === "system" && wanted.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").innerHTML = SIGNS[theme];
  $("theme").title = theme === "system" ? "as the system has it" : theme;
}
