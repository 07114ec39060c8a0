const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const SIMPLE_ESCAPES = '"\\/bfnrt';

/**
 * Where a text stops being JSON: the index of the first character that cannot follow those before it, or the length
 * when it ends too soon. The engine's own message gives a position for some mistakes only, and quotes the text.
 * For a text that does not parse; another gives its length.
 */
export function jsonErrorPosition(text: string): number {
  const open: ("[" | "{")[] = [];
  let at = 0;

  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.test(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  // By hand: a body may be 32 MiB of brackets, and a pattern for each takes seconds in which nobody is answered.
  const skipSpace = (): void => {
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    }
  };
  const take = (character: string): boolean => {
    skipSpace();
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };
  /** Stops behind the closing quote, or at what does not belong into a string. */
  const string = (): boolean => {
    if (!take('"')) return false;
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code < 0x20) return false;
      if (code === 0x22) {
        at += 1;
        return true;
      }
      if (code !== 0x5c) continue;
      at += 1;
      if (text[at] === "u") {
        for (let digit = 0; digit < 4; digit++) {
          at += 1;
          if (!/[0-9a-fA-F]/.test(text[at] ?? "")) return false;
        }
      } else if (!SIMPLE_ESCAPES.includes(text[at] ?? "?")) return false;
    }
    return false;
  };
  const name = (): boolean => string() && take(":");

  for (;;) {
    // A value, or the beginning of one.
    skipSpace();
    if (take("{")) {
      if (!take("}")) {
        open.push("{");
        if (!name()) return at;
        continue;
      }
    } else if (take("[")) {
      if (!take("]")) {
        open.push("[");
        continue;
      }
    } else if (text[at] === '"') {
      if (!string()) return at;
    } else if (!skip(SCALAR)) return scalarBreak(text, at);

    // What may follow a value.
    for (;;) {
      const inside = open.at(-1);
      if (inside === undefined) {
        skipSpace();
        return at;
      }
      if (take(",")) {
        if (inside === "{" && !name()) return at;
        break;
      }
      if (!take(inside === "{" ? "}" : "]")) return at;
      open.pop();
    }
  }
}

/** Within a word that begins like `true`, or a number that is cut short, the break is further on. */
function scalarBreak(text: string, from: number): number {
  for (const word of ["true", "false", "null"]) {
    if (text[from] !== word[0]) continue;
    let length = 1;
    while (text[from + length] === word[length]) length += 1;
    return from + length;
  }
  return text[from] === "-" ? from + 1 : from;
}
