import { isDeepStrictEqual } from "node:util";
import { findNodeAtLocation, type Node, parse, parseTree } from "jsonc-parser";
import type { KeyEdit } from "./key-edit.ts";

/** Sets or removes one key of a JSON text. Every other character stays, comments on the same line too. */
export function editJson(text: string, { path, value }: KeyEdit): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  if (root === undefined)
    return value === undefined ? text : `${pretty(nested(path, value), "  ", "\n", "")}\n`;
  if (value === undefined) return removeJson(text, path);
  const style = styleOf(text);
  for (let depth = path.length; depth > 0; depth -= 1) {
    const node = findNodeAtLocation(root, path.slice(0, depth));
    if (node === undefined) continue;
    const rest = path.slice(depth);
    if (rest.length > 0 && node.type === "object") return inserted(text, node, rest, value, style);
    if (rest.length === 0 && node.type === "array" && Array.isArray(value))
      return listEdited(text, path, node, value, style);
    const indent = lineIndent(text, node.offset);
    return spliced(
      text,
      node.offset,
      node.length,
      pretty(nested(rest, value), style.unit, style.eol, indent),
    );
  }
  return inserted(text, root, path, value, style);
}

/** Adds elements to the end of a list, or removes some, so that comments among the others stay. Else replaces the list. */
function listEdited(
  text: string,
  path: readonly string[],
  node: Node,
  value: readonly unknown[],
  style: Style,
): string {
  // `getNodeValue` makes objects without a prototype, which equal no object of ours.
  const before: unknown[] = parse(text.slice(node.offset, node.offset + node.length), [], {
    allowTrailingComma: true,
  });
  if (isDeepStrictEqual(value.slice(0, before.length), before)) {
    const [next, ...more] = value.slice(before.length);
    if (next === undefined) return text;
    const element = (indent: string) => pretty(next, style.unit, style.eol, indent);
    const longer = added(text, node, element, style);
    return more.length === 0 ? longer : editJson(longer, { path, value });
  }
  const gone = before.findIndex((element, index) => !isDeepStrictEqual(element, value[index]));
  const left = before.toSpliced(gone, 1);
  if (
    left.length >= value.length &&
    value.every((element) => left.some((one) => isDeepStrictEqual(one, element)))
  )
    return editJson(removeJson(text, [...path, gone]), { path, value });
  return spliced(
    text,
    node.offset,
    node.length,
    pretty(value, style.unit, style.eol, lineIndent(text, node.offset)),
  );
}

interface Style {
  /** One level of indentation. */
  unit: string;
  eol: string;
}

function styleOf(text: string): Style {
  return {
    unit: /^([ \t]+)["}/]/m.exec(text)?.[1] ?? "  ",
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

const spliced = (text: string, offset: number, length: number, content: string) =>
  text.slice(0, offset) + content + text.slice(offset + length);

const nested = (path: readonly string[], value: unknown): unknown =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);

const pretty = (value: unknown, unit: string, eol: string, indent: string) =>
  JSON.stringify(value, null, unit).replaceAll("\n", eol + indent);

function lineIndent(text: string, offset: number): string {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))![0];
}

/** Whether only white space precedes an offset on its line. */
const startsLine = (text: string, offset: number) =>
  /^[ \t]*$/.test(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset)) && offset > 0;

function inserted(
  text: string,
  parent: Node,
  [name, ...rest]: readonly string[],
  value: unknown,
  style: Style,
): string {
  const property = (indent: string) =>
    `${JSON.stringify(name)}: ${pretty(nested(rest, value), style.unit, style.eol, indent)}`;
  return added(text, parent, property, style);
}

/** Adds a property or an element after the last one. */
function added(
  text: string,
  parent: Node,
  property: (indent: string) => string,
  { unit, eol }: Style,
): string {
  const last = parent.children?.at(-1);
  if (last === undefined) {
    const outer = lineIndent(text, parent.offset);
    const inner = outer + unit;
    const close = parent.offset + parent.length - 1;
    const between = text.slice(parent.offset + 1, close).trimEnd();
    const content = `${between}${eol}${inner}${property(inner)}${eol}${outer}`;
    return spliced(text, parent.offset + 1, close - parent.offset - 1, content);
  }
  const end = last.offset + last.length;
  const { comma, after } = tailOf(text, end);
  if (!startsLine(text, last.offset)) {
    const inline = `, ${property(lineIndent(text, last.offset))}`;
    return spliced(text, end, 0, inline);
  }
  const indent = lineIndent(text, last.offset);
  // A file with commas after last properties keeps that style.
  const content = `${eol}${indent}${property(indent)}${comma === undefined ? "" : ","}`;
  const withProperty = spliced(text, after, 0, content);
  return comma === undefined ? spliced(withProperty, end, 0, ",") : withProperty;
}

const ON_THE_LINE = /[ \t]+|\/\*[^\n]*?\*\/|\/\/[^\r\n]*/y;
const ANY_TRIVIA = /\s+|\/\*[\s\S]*?\*\/|\/\/[^\r\n]*/y;

/** The comma after a property, and the end of the comments on its line. */
function tailOf(text: string, end: number): { comma: number | undefined; after: number } {
  let comma: number | undefined;
  let after = end;
  for (let position = end; ; ) {
    const trivia = matchAt(ON_THE_LINE, text, position);
    if (trivia === "" && text[position] === "," && comma === undefined) {
      comma = position;
      position += 1;
      after = position;
    } else if (trivia === "") {
      comma ??= commaLater(text, position);
      return { comma, after: Math.max(after, (comma ?? -1) + 1) };
    } else {
      position += trivia.length;
      if (trivia.trim() !== "") after = position;
    }
  }
}

/** A comma may stand on a later line, after comments. */
function commaLater(text: string, from: number): number | undefined {
  let position = from;
  for (let trivia = matchAt(ANY_TRIVIA, text, position); trivia !== ""; ) {
    position += trivia.length;
    trivia = matchAt(ANY_TRIVIA, text, position);
  }
  return text[position] === "," ? position : undefined;
}

function matchAt(pattern: RegExp, text: string, position: number): string {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? "";
}

/** Removes a key, or an element of an array by its place. */
export function removeJson(text: string, path: readonly (string | number)[]): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  const node = root && findNodeAtLocation(root, [...path]);
  const property = node?.parent?.type === "property" ? node.parent : node;
  const siblings = property?.parent?.children;
  if (property === undefined || siblings === undefined) return text;
  const place = siblings.indexOf(property);
  const end = property.offset + property.length;
  const { comma } = tailOf(text, end);
  const cuts: [number, number][] = [];
  const [start, stop] = lineAround(text, property.offset, comma === undefined ? end : comma + 1);
  cuts.push([start, stop]);
  const previous = siblings[place - 1];
  if (comma === undefined && previous !== undefined) {
    const before = tailOf(text, previous.offset + previous.length).comma;
    if (before !== undefined && /^,[ \t]*$/.test(text.slice(before, start))) cuts[0] = [before, stop];
    else if (before !== undefined) cuts.push([before, before + 1]);
  }
  const cut = cuts.reduce((current, [from, to]) => current.slice(0, from) + current.slice(to), text);
  // An object without properties has no lines of its own, nor has a list.
  return cut.replace(/\{\s+\}|\[\s+\]/g, (found, at: number) =>
    siblings.length === 1 && at === property.parent!.offset ? found.replace(/\s+/, "") : found,
  );
}

/** A range with the line break before it, if it is all that its line holds. */
function lineAround(text: string, start: number, end: number): [number, number] {
  const rest = /^[ \t]*(?=\r?\n|$)/.exec(text.slice(end));
  if (!startsLine(text, start) || rest === null) return [start, end];
  const lineStart = text.lastIndexOf("\n", start - 1);
  if (lineStart < 0) return [start, end];
  return [text[lineStart - 1] === "\r" ? lineStart - 1 : lineStart, end + rest[0].length];
}
