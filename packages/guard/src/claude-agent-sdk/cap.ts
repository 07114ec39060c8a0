/**
 * A tool's output with every text in it cut to `maxChars`, its structure kept: built-in tools check the form of what
 * replaces their output. Undefined when nothing was too long.
 */
export function cappedOutput(output: unknown, maxChars: number): unknown {
  let cut = false;
  const result = walk(output, 0);
  return cut ? result : undefined;

  function walk(value: unknown, depth: number): unknown {
    if (typeof value === "string") {
      if (value.length <= maxChars) return value;
      cut = true;
      return headAndTail(value, maxChars);
    }
    if (depth > 6 || typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => walk(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, depth + 1)]));
  }
}

/** Beginning and end are where commands say what they do and how it ended. */
function headAndTail(text: string, maxChars: number): string {
  const note = `\n[${text.length - maxChars} characters left out here to spare the context; read them in parts if needed]\n`;
  const room = Math.max(0, maxChars - note.length);
  const head = Math.ceil(room * 0.6);
  const tail = room - head;
  return whole(text.slice(0, head)) + note + whole(tail === 0 ? "" : text.slice(-tail));
}

/** Without the halves of characters that a cut may leave at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]/, "").replace(/[\uD800-\uDBFF]$/, "");
}
