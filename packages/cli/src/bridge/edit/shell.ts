import type { Fields } from "@plimsoll/harnesses/bridge";
import type { KeyEdit } from "./key-edit.ts";

const BLOCK = /^# >>> plimsoll (\S+) >>>\r?\n([\s\S]*?)\r?\n# <<< plimsoll \1 <<<$/gm;

/** The functions that Plimsoll keeps in the start file of a shell, by program. The rest of the file is not read. */
export function parseShell(text: string): Fields {
  return Object.fromEntries([...text.matchAll(BLOCK)].map(([, program, body]) => [program!, body!]));
}

/** Sets or removes the function of one program. Every other character stays. No shell ends a function before a carriage return. */
export function editShell(text: string, { path, value }: KeyEdit): string {
  const program = path[0]!;
  const found = [...text.matchAll(BLOCK)].find(([, name]) => name === program);
  const block = [`# >>> plimsoll ${program} >>>`, String(value), `# <<< plimsoll ${program} <<<`].join("\n");
  if (found !== undefined) {
    const after = text.slice(found.index + found[0].length);
    const before = text.slice(0, found.index);
    if (value !== undefined) return before + block + after;
    return before + after.replace(/^\r?\n/, "");
  }
  if (value === undefined) return text;
  const isEnded = text === "" || /\n$/.test(text);
  return `${text}${isEnded ? "" : "\n"}${block}\n`;
}
