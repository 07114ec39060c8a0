/** @jsxImportSource #jsx */
import { codeParts } from "./code-parts.ts";

/** A text whose parts between backticks are shown as code. */
export function CodeText({ children }: { children: string }) {
  let start = 0;
  return codeParts(children).map(({ text, isCode }) => {
    const key = start;
    start += text.length;
    if (!isCode) return text;
    return (
      <code key={key} className="rounded bg-track px-1 py-0.5 font-mono text-xs text-ink">
        {text}
      </code>
    );
  });
}
