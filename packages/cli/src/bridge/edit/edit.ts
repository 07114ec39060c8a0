import { isDeepStrictEqual } from "node:util";
import { parse as parseToml } from "@decimalturn/toml-patch";
import type { Fields, SettingsFormat } from "@plimsoll/harnesses/bridge";
import { at, isFields, pathText, withChanges } from "@plimsoll/harnesses/fields";
import { yamlExcess } from "@plimsoll/protocol/policy";
import { type ParseError, parse as parseJson, printParseErrorCode } from "jsonc-parser";
import { Lexer, parseDocument } from "yaml";
import { editEnv, parseEnv } from "./env.ts";
import { editJson } from "./json.ts";
import type { KeyEdit } from "./key-edit.ts";
import { editShell, parseShell } from "./shell.ts";
import { editToml } from "./toml.ts";
import { editYaml } from "./yaml.ts";

/** Why a settings file cannot be read as its format. */
export class UnreadableSettings extends Error {
  override readonly name = "UnreadableSettings";
}

/**
 * Reads the text of a settings file. An empty file holds no settings.
 * @throws {UnreadableSettings} if the text is not valid; JSON may hold comments and trailing commas
 */
export function parseSettings(format: SettingsFormat, text: string): Fields {
  const plain = text.replace(/^\uFEFF/, "");
  if (plain.trim() === "") return {};
  const value = PARSERS[format](plain);
  if (value === null || value === undefined) return {};
  if (!isFields(value)) throw new UnreadableSettings("It does not hold an object.");
  return value;
}

const PARSERS: Record<SettingsFormat, (text: string) => unknown> = {
  json(text) {
    const errors: ParseError[] = [];
    const value = parseJson(text, errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first !== undefined)
      throw new UnreadableSettings(`${printParseErrorCode(first.error)} at character ${first.offset}.`);
    return value;
  },
  toml(text) {
    try {
      return withPlainTables(parseToml(text));
    } catch (error) {
      throw new UnreadableSettings(firstLine(error));
    }
  },
  yaml(text) {
    const excess = yamlExcess(new Lexer().lex(text));
    if (excess !== undefined) throw new UnreadableSettings(excess);
    const document = parseDocument(text);
    const [first] = document.errors;
    if (first !== undefined) throw new UnreadableSettings(firstLine(first));
    return document.toJS();
  },
  env: parseEnv,
  shell: parseShell,
};

/** The parser's tables have no prototype, so that they equal no object of ours. Its dates stay. */
function withPlainTables(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainTables);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withPlainTables(part)]));
}

const firstLine = (error: unknown) => String((error as Error).message).split("\n", 1)[0]!;

/** Why an edit is not made: the edited text would not hold what was asked for, and only that. */
export class UnsafeEdit extends Error {
  override readonly name = "UnsafeEdit";
}

/**
 * Changes keys of a settings file and nothing else: comments, order, formatting and other keys stay. The result is parsed again
 * and compared.
 * @throws {UnreadableSettings} as `parseSettings`
 * @throws {UnsafeEdit}
 */
export function editSettings(format: SettingsFormat, text: string, edits: readonly KeyEdit[]): string {
  const before = parseSettings(format, text);
  if (edits.length === 0) return text;
  for (const { path, value } of edits) {
    const odd = path.findIndex((_, depth) => depth > 0 && !isGroup(at(before, path.slice(0, depth))));
    if (odd > 0 && value !== undefined)
      throw new UnsafeEdit(`${pathText({ path: path.slice(0, odd) })} is no group of settings.`);
  }
  let edited: string;
  let after: Fields | undefined;
  try {
    edited = EDITORS[format](text, edits, before);
    after = parseSettings(format, edited);
  } catch (error) {
    throw new UnsafeEdit(firstLine(error), { cause: error });
  }
  if (isDeepStrictEqual(after, withChanges(before, edits))) return edited;
  throw new UnsafeEdit("The edited text would hold other settings than were asked for.");
}

const isGroup = (value: unknown) => value === undefined || value === null || isFields(value);

const EDITORS: Record<SettingsFormat, (text: string, edits: readonly KeyEdit[], before: Fields) => string> = {
  json: (text, edits) => edits.reduce(editJson, text),
  toml: editToml,
  yaml: (text, edits) => edits.reduce(editYaml, text),
  env: (text, edits) => edits.reduce(editEnv, text),
  shell: (text, edits) => edits.reduce(editShell, text),
};
