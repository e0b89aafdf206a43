// Elements in one call: h("button", {class: "plain", onclick: run}, "Run").
export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "html") made.innerHTML = value; // texts that the server has made and escaped
    else if (name in made && name !== "list" && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.flat());
  return made;
}

export const $ = (id) => document.getElementById(id);

export function empty(title, words) {
  return h("div", { class: "empty" }, h("b", {}, title), h("span", {}, words));
}

// A message as the start of a sentence.
export const sentence = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

// A text with `code` in it.
export function coded(text) {
  return text.split(/`([^`]+)`/).map((part, n) => (n % 2 ? h("code", {}, part) : part));
}

export function escaped(text) {
  return text.replace(/[&<>]/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[mark]);
}
