import { isDeepStrictEqual } from "node:util";
import { patch } from "@decimalturn/toml-patch";
import type { Fields } from "@plimsoll/harnesses/bridge";
import { at, withChanges } from "@plimsoll/harnesses/fields";
import type { KeyEdit } from "./key-edit.ts";

/** Sets or removes keys of a TOML text. */
export function editToml(text: string, edits: readonly KeyEdit[], before: Fields): string {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  // `patch` removes the tables of other elements along with those of one.
  const cut = edits.reduce((left, edit) => withoutElements(left, edit, before), text.slice(mark.length));
  const isMixed = cut.includes("\r\n") && /(?<!\r)\n/.test(cut);
  const patched = patch(isMixed ? cut.replaceAll("\r\n", "\n") : cut, withChanges(before, edits));
  const edited = isMixed ? withOwnEnds(patched, cut) : patched;
  return mark + (text.trim() === "" && !edited.endsWith("\n") ? `${edited}\n` : edited);
}

/** `patch` gives all lines one kind of end. Those that stay get theirs back. */
function withOwnEnds(edited: string, text: string): string {
  const lines = text.split("\n");
  let next = 0;
  return edited
    .split("\n")
    .map((line) => {
      const place = lines.findIndex((one, index) => index >= next && one.replace(/\r$/, "") === line);
      if (place < 0) return line;
      next = place + 1;
      return lines[place]!;
    })
    .join("\n");
}

function withoutElements(text: string, { path, value }: KeyEdit, before: Fields): string {
  const found = at(before, path);
  if (!Array.isArray(found)) return text;
  const kept: readonly unknown[] = Array.isArray(value) ? value : [];
  return found.reduceRight<string>(
    (left, element, place) =>
      kept.some((one) => isDeepStrictEqual(one, element)) ? left : withoutElement(left, path, place),
    text,
  );
}

const HEADER = /^[ \t]*(\[\[?)(.*?)\]\]?[ \t]*(?:#.*)?\r?$/;
const NAME = /"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+/g;

/** Removes the lines of `[[path]]` and of its tables. Comments before the next table stay. */
function withoutElement(text: string, path: readonly string[], place: number): string {
  const lines = text.split("\n");
  const headers = withoutTexts(text).flatMap((line, index) => {
    const [, kind, names] = HEADER.exec(line) ?? [];
    return names === undefined ? [] : [{ index, isList: kind === "[[", names: namesIn(names) }];
  });
  const isAt = (names: readonly string[]) => isDeepStrictEqual(names.slice(0, path.length), path);
  const own = headers.filter(({ isList, names }) => isList && names.length === path.length && isAt(names));
  const start = own[place]?.index;
  if (start === undefined) return text;
  const next = headers.find(
    ({ index, names }) => index > start && !(names.length > path.length && isAt(names)),
  );
  let end = next?.index ?? lines.length;
  while (/^[ \t]*(#.*)?\r?$/.test(lines[end - 1]!) && lines[end - 1] !== "") end -= 1;
  return lines.toSpliced(start, end - start).join("\n");
}

/** The lines of a text, empty where they are in a string of several lines. */
const withoutTexts = (text: string): string[] =>
  text.replace(/"""[\s\S]*?"""|'''[\s\S]*?'''/g, (found) => found.replace(/[^\n]/g, "")).split("\n");

const namesIn = (text: string) =>
  (text.match(NAME) ?? []).map((name) =>
    name.startsWith('"') ? String(JSON.parse(name)) : name.replace(/^'(.*)'$/, "$1"),
  );
