import { headAndTail } from "../view/placeholder.ts";

/**
 * Shortens every text in a tool's output to `maxChars` and keeps the structure, because built-in tools validate their
 * output. `leftOut` is in characters. Returns `undefined` if no text was too long.
 */
export function capOutput(
  output: unknown,
  maxChars: number,
): { output: unknown; leftOut: number } | undefined {
  let leftOut = 0;
  const capped = walk(output, 0);
  return leftOut > 0 ? { output: capped, leftOut } : undefined;

  function walk(value: unknown, depth: number): unknown {
    if (typeof value === "string") {
      if (value.length <= maxChars) return value;
      let chars = 0;
      const kept = headAndTail(value, maxChars, (left) => {
        chars = left;
        return noteOn(left);
      });
      leftOut += chars;
      return kept;
    }
    if (depth > 6 || typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => walk(item, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, depth + 1)]));
  }
}

const noteOn = (chars: number) =>
  `\n[${chars} characters left out here to spare the context; read them in parts if needed]\n`;
