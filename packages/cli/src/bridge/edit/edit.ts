import { parse as parseToml, patch } from "@decimalturn/toml-patch";
import type { Fields, SettingsFormat } from "@plimsoll/harnesses/bridge";
import { isFields, withChanges } from "@plimsoll/harnesses/fields";
import { yamlExcess } from "@plimsoll/protocol/policy";
import { type ParseError, parse as parseJson, printParseErrorCode } from "jsonc-parser";
import { Lexer, parseDocument } from "yaml";
import { editEnv, parseEnv } from "./env.ts";
import { editJson } from "./json.ts";
import type { KeyEdit } from "./key-edit.ts";
import { editShell, parseShell } from "./shell.ts";
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

/**
 * Changes keys of a settings file and nothing else: comments, order, formatting and other keys stay.
 * @throws {UnreadableSettings} as `parseSettings`
 */
export function editSettings(format: SettingsFormat, text: string, edits: readonly KeyEdit[]): string {
  const before = parseSettings(format, text);
  if (edits.length === 0) return text;
  return EDITORS[format](text, edits, before);
}

const EDITORS: Record<SettingsFormat, (text: string, edits: readonly KeyEdit[], before: Fields) => string> = {
  json: (text, edits) => edits.reduce(editJson, text),
  toml(text, edits, before) {
    const mark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
    const edited = patch(text.slice(mark.length), withChanges(before, edits));
    return mark + (text.trim() === "" && !edited.endsWith("\n") ? `${edited}\n` : edited);
  },
  yaml: (text, edits) => edits.reduce(editYaml, text),
  env: (text, edits) => edits.reduce(editEnv, text),
  shell: (text, edits) => edits.reduce(editShell, text),
};
