import type { Thresholds } from "@plimsoll/protocol/pure";
import { ConfigError } from "./config-error.ts";
import { type Scalar, SettingsReader } from "./settings-reader.ts";

/** The settings in a `phantom.yaml`. */
export interface PhantomConfig {
  /** `warning` and `ceiling` from the file. Other thresholds are off. */
  thresholds: Thresholds;
  /** `model_context_tokens`, in tokens; `undefined` if absent. */
  windowTokens: number | undefined;
  /** The file's `model`. */
  model: string | undefined;
  /** `max_context_pct` of the `loop:` block, for `maxContextPct` of `runLoop`. 0 to 100; `undefined` if absent. */
  maxContextPct: number | undefined;
}

/**
 * Reads the `context:` and `loop:` blocks and `model` of a `phantom.yaml` and ignores the rest. Percentages in it run from 0
 * to 100. Missing settings take the design's defaults: ceiling 20, warning 15.
 * @throws {ConfigError} With the key, value and line of each mistake.
 * @example
 * const { thresholds, windowTokens } = readPhantomYaml(readFileSync("phantom.yaml", "utf8"));
 */
export function readPhantomYaml(text: string, path = "phantom.yaml"): PhantomConfig {
  // A byte order mark would make the first line look indented.
  const { blocks, model } = blocksOf(text.replace(/^\uFEFF/, ""), path);
  const fields = new SettingsReader("context.", blocks.context);
  const loop = new SettingsReader("loop.", blocks.loop);
  const percent = (value: number) => {
    if (value > 0 && value <= 100) return undefined;
    return "must be a percentage above 0 and at most 100";
  };
  const ceiling = fields.number("max_utilization_pct", percent);
  const warning = fields.number("warning_pct", percent);
  const windowTokens = fields.number("model_context_tokens", (value) =>
    Number.isInteger(value) && value >= 1_000 ? undefined : "must be a whole number of tokens, at least 1000",
  );
  fields.unknown();
  // Other settings of loops are not the guard's.
  const maxContextPct = loop.number("max_context_pct", percent);
  const effective = {
    ceiling: ceiling === undefined ? 20 : ceiling,
    warning: warning === undefined ? 15 : warning,
  };
  if (
    fields.problems.length === 0 &&
    effective.ceiling !== null &&
    effective.warning !== null &&
    effective.warning >= effective.ceiling &&
    (ceiling !== undefined || warning !== undefined)
  ) {
    fields.problem(
      warning === undefined ? "max_utilization_pct" : "warning_pct",
      `the warning (${effective.warning}) must be below the ceiling (${effective.ceiling})`,
    );
  }
  const problems = [...fields.problems, ...loop.problems];
  if (problems.length > 0) throw new ConfigError(path, problems);
  return {
    thresholds: {
      warning: share(effective.warning),
      ceiling: share(effective.ceiling),
      soft: null,
      hard: null,
      reserve: null,
    },
    windowTokens: windowTokens ?? undefined,
    model,
    maxContextPct: maxContextPct ?? undefined,
  };
}

/** Formats a percentage for the protocol, with at most four decimals. */
export function share(percent: number | null): string | null {
  return percent === null ? null : `${Number(percent.toFixed(4))}%`;
}

type BlockName = "context" | "loop";
type Block = Map<string, Scalar>;

/** Reads the lines of the `context` mapping, which only holds scalars, and `max_context_pct` of the `loop` mapping. */
function blocksOf(
  text: string,
  path: string,
): { blocks: Record<BlockName, Block>; model: string | undefined } {
  const blocks: Record<BlockName, Block> = { context: new Map(), loop: new Map() };
  let model: string | undefined;
  let inside: BlockName | undefined;
  let indent = 0;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = index + 1;
    const bare = raw.trim();
    if (bare === "" || bare.startsWith("#") || bare === "---") continue;
    const margin = raw.length - raw.trimStart().length;
    if (margin === 0) {
      inside = undefined;
      const [key, value] = pair(raw);
      if (key === "model") model = textOf(scalar(value));
      if (key !== "context" && key !== "loop") continue;
      const rest = withoutComment(value);
      if (rest.startsWith("{") && rest.endsWith("}")) {
        for (const part of rest.slice(1, -1).split(",")) {
          const isOthers = key === "loop" && pair(part)[0] !== "max_context_pct";
          if (part.trim() !== "" && !isOthers) addPair(blocks[key], key, part.trim(), line, path);
        }
      } else if (rest !== "" && rest !== "null" && rest !== "~" && key === "context") {
        throw new ConfigError(path, [`${key}: must be a block of settings, not ${rest} (line ${line})`]);
      } else {
        inside = key;
        indent = 0;
      }
      continue;
    }
    if (inside === undefined) continue;
    if (inside === "context" && raw.slice(0, margin).includes("\t")) {
      throw new ConfigError(path, [`${inside}: YAML does not allow tabs for indentation (line ${line})`]);
    }
    indent ||= margin;
    // A loop has settings of others, of any form.
    if (inside === "loop" && (margin !== indent || pair(bare)[0] !== "max_context_pct")) continue;
    if (margin !== indent) {
      throw new ConfigError(path, [
        `${inside}: unexpected indentation of ${margin} instead of ${indent} (line ${line})`,
      ]);
    }
    addPair(blocks[inside], inside, bare, line, path);
  }
  return { blocks, model };
}

function addPair(block: Block, name: BlockName, text: string, line: number, path: string): void {
  const [key, value] = pair(text);
  if (key === undefined)
    throw new ConfigError(path, [`${name}: expected "key: value", found ${text} (line ${line})`]);
  if (block.has(key))
    throw new ConfigError(path, [`${name}.${key}: is set twice, remove one (line ${line})`]);
  block.set(key, { value: scalar(value), line });
}

function pair(text: string): [key: string | undefined, value: string] {
  const match = /^(["']?)([A-Za-z_][\w-]*)\1\s*:(?:\s+(.*)|\s*)$/.exec(text.trim());
  return match === null ? [undefined, ""] : [match[2], match[3] ?? ""];
}

function withoutComment(value: string): string {
  return value.replace(/(^|\s)#.*$/, "").trim();
}

function scalar(raw: string): Scalar["value"] {
  const quoted = /^(["'])(.*?)\1\s*(?:#.*)?$/.exec(raw.trim());
  if (quoted !== null) return quoted[2]!;
  const value = withoutComment(raw);
  if (value === "" || value === "~" || value === "null") return null;
  if (value === "true" || value === "false") return value === "true";
  const digits = value.replaceAll("_", "");
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(digits) ? Number(digits) : value;
}

function textOf(value: Scalar["value"]): string | undefined {
  return value === null ? undefined : String(value);
}
