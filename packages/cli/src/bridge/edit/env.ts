import type { Fields } from "@plimsoll/harnesses/bridge";
import { envLine } from "@plimsoll/harnesses/connect";
import type { KeyEdit } from "./key-edit.ts";

const LINE = /^([ \t]*(?:export[ \t]+)?)([A-Za-z_]\w*)[ \t]*=[ \t]*(.*?)[ \t]*$/;

/** The variables of a `.env` file. The last line of a name counts; other lines are left out. */
export function parseEnv(text: string): Fields {
  const fields: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, , name, value] = LINE.exec(line) ?? [];
    if (name !== undefined) fields[name] = unquoted(value!);
  }
  return fields;
}

function unquoted(text: string): string {
  const [, single, double] = /^(?:'((?:[^']|'\\'')*)'|"((?:[^"\\]|\\.)*)")(?:\s+#.*)?$/.exec(text) ?? [];
  if (single !== undefined) return single.replaceAll("'\\''", "'");
  if (double !== undefined) return double.replace(/\\(.)/g, "$1");
  return text.replace(/\s+#.*$/, "");
}

const bare = (line: string) => line.replace(/^\uFEFF|\r$/g, "");

/** Sets or removes one variable. Every other line stays. */
export function editEnv(text: string, { path, value }: KeyEdit): string {
  const name = path[0]!;
  const lines = text.split("\n");
  const isName = (line: string) => LINE.exec(bare(line))?.[2] === name;
  const place = lines.findLastIndex(isName);
  if (value === undefined) return lines.filter((line) => !isName(line)).join("\n");
  const line = envLine(name, String(value));
  if (place >= 0) {
    const found = lines[place]!;
    const lead = LINE.exec(bare(found))![1]!;
    const mark = found.startsWith("\uFEFF") ? "\uFEFF" : "";
    return lines.with(place, `${mark}${lead}${line}${found.endsWith("\r") ? "\r" : ""}`).join("\n");
  }
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const isEnded = text === "" || text === "\uFEFF" || /\n$/.test(text);
  return `${text}${isEnded ? "" : eol}${line}${eol}`;
}
