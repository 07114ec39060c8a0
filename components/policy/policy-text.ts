import {
  orderedPolicy,
  type PolicyBody,
  type PolicyMistake,
  readPolicy,
  yamlExcess,
} from "@plimsoll/protocol/policy";
import { type Document, isMap, Lexer, LineCounter, parseDocument, stringify } from "yaml";

/** A mistake in the text of a policy. */
export interface TextMistake extends PolicyMistake {
  /** Offsets in the text, in UTF-16 units. */
  from: number;
  to: number;
  /** From 1. */
  line: number;
}

/** A policy as somebody is writing it. */
export interface ReadText {
  /** Undefined while the text has mistakes. */
  body: PolicyBody | undefined;
  mistakes: readonly TextMistake[];
  /** Whether it is YAML at all: then fields can be changed in it. */
  isYaml: boolean;
  /** Where the value at a path is in the text. Absent if the text is no YAML. */
  placeIn?: (path: string) => { from: number; to: number };
}

/** Most YAML aliases: nested aliases can expand without end. */
const ALIASES = 20;
const OPTIONS = { prettyErrors: false } as const;

/** Reads the text of a policy, YAML or JSON. */
export function readText(text: string): ReadText {
  const excess = yamlExcess(new Lexer().lex(text));
  if (excess !== undefined) {
    const mistake = { path: "", message: excess, from: 0, to: 0, line: 1 };
    return { body: undefined, mistakes: [mistake], isYaml: false };
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { ...OPTIONS, lineCounter: lines });
  const at = (from: number, to: number) => ({ from, to: Math.max(from, to), line: lines.linePos(from).line });
  if (document.errors.length > 0) {
    const mistakes = document.errors.map(({ message, pos: [from, to] }) => ({
      path: "",
      message,
      ...at(from, to),
    }));
    return { body: undefined, mistakes, isYaml: false };
  }
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: ALIASES }) ?? {};
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { body: undefined, mistakes: [{ path: "", message, ...at(0, 0) }], isYaml: false };
  }
  const read = readPolicy(value);
  const placeIn = (path: string) => at(...placeOf(document, path));
  if (read.ok) return { body: read.body, mistakes: [], isYaml: true, placeIn };
  const mistakes = read.mistakes.map((mistake) => ({ ...mistake, ...placeIn(mistake.path) }));
  return {
    body: undefined,
    mistakes,
    isYaml: isMap(document.contents) || document.contents === null,
    placeIn,
  };
}

/** Where a path is in the text; where its nearest parent is, if the path itself is missing. */
function placeOf(document: Document, path: string): [from: number, to: number] {
  const keys = path === "" ? [] : path.split(".");
  for (let length = keys.length; length > 0; length--) {
    const node = document.getIn(keys.slice(0, length).map(keyOf), true) as
      | { range?: [number, number] }
      | undefined;
    if (node?.range) return [node.range[0], node.range[1]];
  }
  return [0, 0];
}

const keyOf = (key: string): string | number => (/^\d+$/.test(key) ? Number(key) : key);

type Path = readonly (string | number)[];

/**
 * Sets or removes one value. Comments and everything else stay as they are; a group without values is removed.
 * @param value undefined removes it
 * @returns the same text if it is no YAML
 */
export function withValue(text: string, path: Path, value: unknown): string {
  if (yamlExcess(new Lexer().lex(text)) !== undefined) return text;
  const document = parseDocument(text, OPTIONS);
  if (document.errors.length > 0 || (value === undefined && !hasIn(document, path))) return text;
  if (value !== undefined) document.setIn(path, document.createNode(value, { flow: isSmall(value) }));
  else {
    document.deleteIn(path);
    for (let length = path.length - 1; length > 1; length--) {
      const group = document.getIn(path.slice(0, length), true);
      if (path[length - 1] === "settings" || !isMap(group) || group.items.length > 0) break;
      document.deleteIn(path.slice(0, length));
    }
  }
  return textOf(document);
}

const hasIn = (document: Document, path: Path): boolean => isMap(document.contents) && document.hasIn(path);

/** Such as a threshold with a floor, which reads best on one line. */
const isSmall = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "percent" in value;

const textOf = (document: Document): string => {
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true });
  return text === "{}\n" || text === "null\n" ? "" : text;
};

/** A policy as text. */
export function policyText(body: PolicyBody): string {
  const value = orderedPolicy(body);
  return Object.keys(value).length === 0 ? "" : stringify(value, { lineWidth: 0 });
}
