// Colours for Metal, and lightly for the generated texts.
import { escaped } from "./dom.js";

const METAL = new RegExp(
  [
    String.raw`(?<comment>\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))`,
    String.raw`(?<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)`,
    String.raw`(?<attribute>\[\[[\s\S]*?\]\]|^[ \t]*#[ \t]*\w+(?:[ \t]*<[^>\n]*>)?)`,
    String.raw`(?<word>\b(?:kernel|device|constant|threadgroup|thread|const|constexpr|static|inline|for|while|do|if|else|switch|case|default|return|break|continue|struct|enum|union|using|namespace|template|typename|typedef|operator|sizeof|true|false)\b)`,
    String.raw`(?<type>\b(?:void|bool|auto|size_t|atomic_\w+|simdgroup_\w+8x8|(?:packed_)?(?:u?(?:char|short|int|long)|half|float|bfloat)(?:[234](?:x[234])?)?|u?int(?:8|16|32|64)_t)\b)`,
    String.raw`(?<call>\b[A-Za-z_]\w*(?=\s*\())`,
    String.raw`(?<digits>\b(?:0[xX][\da-fA-F]+|\d[\d.]*(?:[eE][-+]?\d+)?)[uUlLfFhH]*\b)`,
  ].join("|"),
  "gm",
);

const MACHINE = /(?<comment>;[^\n]*|#(?= )[^\n]*|\/\/[^\n]*)|(?<string>"[^"\n]*")|(?<attribute>![\w.]+|^[ \t]*\.[\w.]+)|(?<call>@[\w.$]+|@"[^"]*")|(?<type>%[\w.$]+)|(?<word>^\s*[a-z][\w.]*(?=\s|$)|(?<== )[a-z]\w*)|(?<digits>(?<![\w.])-?\d[\w.]*)/gm;

const SPANS = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/g;

export const metal = (text) => coloured(text, METAL);

// The lines from `start` to `end`. A comment that begins above them is a comment in them too.
export function metalFrom(text, start, end) {
  const open = text.lastIndexOf("/*", start - 1) < 0 ? 0 : opened(text, start);
  if (!open) return metal(text.slice(start, end));
  const close = Math.min(end, open);
  return `<span class="comment">${escaped(text.slice(start, close))}</span>${metal(text.slice(close, end))}`;
}

// Where the comment ends that `start` lies in; 0 where it lies in none.
function opened(text, start) {
  SPANS.lastIndex = 0;
  for (let found = SPANS.exec(text); found && found.index < start; found = SPANS.exec(text)) {
    if (SPANS.lastIndex > start) return SPANS.lastIndex;
  }
  return 0;
}

export const machine = (text) => coloured(text, MACHINE);

function coloured(text, pattern) {
  let made = "", end = 0;
  for (const found of text.matchAll(pattern)) {
    const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
    made += escaped(text.slice(end, found.index)) + `<span class="${kind}">${escaped(found[0])}</span>`;
    end = found.index + found[0].length;
  }
  return made + escaped(text.slice(end));
}
