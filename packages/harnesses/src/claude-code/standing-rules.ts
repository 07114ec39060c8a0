import { asObject, asText, type JsonObject, parseObject } from "../recordings/json.ts";
import { isRule, sentencesOf } from "../recordings/sentences.ts";
import { isPrompt } from "../recordings/text.ts";

/** What a person asked for that should outlive every compaction of a session. */
export interface StandingRules {
  /** Sentences of prompts that ask for something for good, each once, the latest first. */
  lines: string[];
  /**
   * Rules of the instruction files that Claude Code loads with a file beside them, the latest file first. It loads those of the project's
   * root and of the person again after a compaction, and drops these.
   */
  files: { path: string; rules: string[] }[];
  /** The id of the latest line of the conversation. */
  last: string | undefined;
}

/** The lines that may tell rules. Results of tools are most of a recording, and are never taken for rules. */
export const RULE_LINES = {
  some: ['"type":"user"', '"nested_memory"', '"queued_command"'],
  without: '"tool_result"',
} as const;

/** Most of a longer prompt was pasted, and a longer sentence is none. In characters. */
const LONGEST_PROMPT = 4_000;
const LONGEST_RULE = 600;
/** Text of others: quoted, or in a block of code. */
const FENCED = /^(```|~~~)[\s\S]*?(^\1|$(?![\s\S]))/gm;
const QUOTED = /^\s*>.*$/gm;
const FRONT = /^---\n[\s\S]*?\n---\n/;
const ITEM = /^([-*+]|\d+[.)])\s+/;
const HIDDEN = /[\p{Cc}\p{Cf}]+/gu;
const CLEAR = /<command-name>\/?clear<\/command-name>/;
/** A file in there was written by others. */
const OF_OTHERS = /[\\/](node_modules|vendor|site-packages|\.venv)[\\/]/;

/**
 * Reads the rules of a session from the lines of its recording.
 * @param folder of the project; instruction files elsewhere are not the person's
 */
export function standingRules(lines: Iterable<string>, folder: string): StandingRules {
  const said = new Set<string>();
  const files = new Map<string, string[]>();
  let last: string | undefined;
  for (const line of lines) {
    const json = mayMatter(line) ? parseObject(line) : undefined;
    if (json === undefined || json.isSidechain === true) continue;
    last = asText(json.uuid) ?? last;
    const memory = memoryIn(json, folder);
    if (memory !== undefined) again(files, memory.path, rulesIn(memory.text));
    for (const text of promptsIn(json)) {
      if (CLEAR.test(text)) {
        said.clear();
        files.clear();
      }
      if (!isPrompt(text) || text.length > LONGEST_PROMPT) continue;
      for (const { text: sentence } of sentencesOf(text.replace(FENCED, "").replace(QUOTED, ""))) {
        const rule = plain(sentence);
        if (!isRule(rule) || rule.length > LONGEST_RULE) continue;
        said.delete(rule);
        said.add(rule);
      }
    }
  }
  return {
    lines: [...said].reverse(),
    files: [...files].map(([path, rules]) => ({ path, rules })).reverse(),
    last,
  };
}

const mayMatter = (line: string) =>
  !line.includes(RULE_LINES.without) && RULE_LINES.some.some((text) => line.includes(text));

function again<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

function memoryIn(json: JsonObject, folder: string): { path: string; text: string } | undefined {
  const attachment = json.type === "attachment" ? asObject(json.attachment) : undefined;
  if (attachment?.type !== "nested_memory") return undefined;
  const path = asText(attachment.path);
  const text = asText(asObject(attachment.content)?.content) ?? asText(attachment.content);
  if (path === undefined || text === undefined || !isIn(folder, path) || OF_OTHERS.test(path))
    return undefined;
  return { path, text };
}

const isIn = (folder: string, path: string) =>
  path.startsWith(folder) && /[\\/]/.test(path.slice(folder.replace(/[\\/]+$/, "").length)[0] ?? "");

/** What a person typed: not what the harness, a tool or another agent says in the same role. */
function promptsIn(json: JsonObject): string[] {
  const origin = asText(asObject(json.origin)?.kind);
  if (json.type === "user") {
    if (json.isMeta === true || json.isCompactSummary === true || (origin ?? "human") !== "human") return [];
    const content = asObject(json.message)?.content;
    const blocks = Array.isArray(content) ? content.map(asObject) : [{ type: "text", text: content }];
    return blocks.flatMap((block) => (block?.type === "text" ? (asText(block.text) ?? []) : []));
  }
  // Typed while the agent worked.
  const attachment = json.type === "attachment" ? asObject(json.attachment) : undefined;
  if (attachment?.type !== "queued_command" || asText(asObject(attachment.origin)?.kind) !== "human")
    return [];
  return [asText(attachment.prompt) ?? []].flat();
}

/** Items of lists and paragraphs, without headings and blocks of code. */
function rulesIn(text: string): string[] {
  const rules: string[] = [];
  let isOpen = false;
  for (const line of text.replace(FRONT, "").replace(FENCED, "").split("\n")) {
    const said = plain(line);
    const isBreak = !/\p{L}/u.test(said) || /^#/.test(said);
    if (!isBreak && isOpen && !ITEM.test(said)) rules[rules.length - 1] += ` ${said}`;
    else if (!isBreak) rules.push(said.replace(ITEM, ""));
    isOpen = !isBreak;
  }
  const fitting = rules.filter((rule) => rule.length <= LONGEST_RULE);
  // Those that say what must be come first.
  return [...fitting.filter(isRule), ...fitting.filter((rule) => !isRule(rule))];
}

const plain = (text: string) => text.replace(HIDDEN, " ").trim();
