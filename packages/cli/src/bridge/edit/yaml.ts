import { isMap, isScalar, parseDocument } from "yaml";
import type { KeyEdit } from "./key-edit.ts";

/** Sets or removes one key of a YAML text. Only lines of that key change if it is a plain value at the top level. */
export function editYaml(text: string, { path, value }: KeyEdit): string {
  const document = parseDocument(text);
  const root = document.contents;
  const [name] = path;
  const isBlock = root === null || (isMap(root) && root.flow !== true);
  const isPlain = value === undefined || typeof value !== "object";
  if (path.length === 1 && isBlock && isPlain) {
    const pair = isMap(root) ? root.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
    if (pair === undefined) return value === undefined ? text : appended(text, name!, value);
    const edited = replaced(text, pair, value);
    if (edited !== undefined) return edited;
  }
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, value);
  const written = document.toString({ lineWidth: 0 });
  return text.includes("\r\n") ? written.replace(/\r?\n/g, "\r\n") : written;
}

function appended(text: string, name: string, value: unknown): string {
  // Another document or an end marker follows.
  const marker = /^(?:---|\.\.\.)(?=\s|$)/m.exec(text.replace(/^---(?=\s|$)/, "   "));
  const end = marker?.index ?? text.length;
  const [before, after] = [text.slice(0, end), text.slice(end)];
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const gap = before === "" || before.endsWith("\n") ? "" : eol;
  return `${before}${gap}${name}: ${JSON.stringify(value)}${eol}${after}`;
}

function replaced(text: string, pair: { key: unknown; value: unknown }, value: unknown): string | undefined {
  const [key, old] = [pair.key, pair.value];
  if (!isScalar(key) || !isScalar(old) || key.range == null || old.range == null) return undefined;
  if (value !== undefined)
    return old.range[0] === old.range[1]
      ? undefined
      : text.slice(0, old.range[0]) + JSON.stringify(value) + text.slice(old.range[1]);
  const start = text.lastIndexOf("\n", key.range[0] - 1) + 1;
  if (text.slice(start, key.range[0]).trim() !== "") return undefined;
  const end = text.indexOf("\n", old.range[1]);
  return text.slice(0, start) + (end < 0 ? "" : text.slice(end + 1));
}
