// What keys do in the source: indentation, comments. Escape, then Tab, leaves it.
let leaving = false;

export function keys(event, input) {
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.key === "Escape") leaving = true;
  else if (event.key === "Tab" && plain && !leaving) {
    event.preventDefault();
    if (event.shiftKey || spansLines(input)) shift(input, event.shiftKey);
    else write(input, "    ");
  } else if (event.key === "Enter" && plain && !event.shiftKey) {
    event.preventDefault();
    const line = lineBefore(input);
    const indent = /^\s*/.exec(line)[0] + (/[{(]\s*$/.test(line) ? "    " : "");
    write(input, `\n${indent}`);
  } else if (event.key === "}" && plain && /^\s+$/.test(lineBefore(input))) {
    event.preventDefault();
    input.setSelectionRange(input.selectionStart - Math.min(4, lineBefore(input).length), input.selectionEnd);
    write(input, "}");
  } else if (event.key === "/" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    comment(input);
  }
  if (event.key !== "Escape" && event.key !== "Tab") leaving = false;
}

// The browser's own way to insert keeps its undo history.
function write(input, text) {
  if (!document.execCommand("insertText", false, text)) {
    input.setRangeText(text, input.selectionStart, input.selectionEnd, "end");
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function lineBefore(input) {
  return input.value.slice(input.value.lastIndexOf("\n", input.selectionStart - 1) + 1, input.selectionStart);
}

function spansLines(input) {
  return input.value.slice(input.selectionStart, input.selectionEnd).includes("\n");
}

function rewritten(input, change) {
  const from = input.value.lastIndexOf("\n", input.selectionStart - 1) + 1;
  const found = input.value.indexOf("\n", Math.max(from, input.selectionEnd - 1));
  const to = found < 0 ? input.value.length : found;
  const lines = change(input.value.slice(from, to).split("\n"));
  input.setSelectionRange(from, to);
  write(input, lines.join("\n"));
  input.setSelectionRange(from, from + lines.join("\n").length);
}

function shift(input, back) {
  rewritten(input, (lines) => lines.map((line) => (back ? line.replace(/^( {1,4}|\t)/, "") : line && `    ${line}`)));
}

function comment(input) {
  rewritten(input, (lines) => {
    const all = lines.every((line) => !line.trim() || /^\s*\/\//.test(line));
    return lines.map((line) => (all ? line.replace(/^(\s*)\/\/ ?/, "$1") : line.trim() && line.replace(/^(\s*)/, "$1// ")));
  });
}
