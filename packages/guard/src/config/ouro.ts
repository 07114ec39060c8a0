import type { PolicyInput } from "../policy/policy.ts";
import { ConfigError } from "./config-error.ts";
import { share } from "./phantom.ts";
import { type Scalar, SettingsReader } from "./settings-reader.ts";

/** The settings in an `ouro.toml`. */
export interface OuroConfig {
  policy: PolicyInput;
  /** `[safety] context_limit`, in tokens; `undefined` if absent. */
  windowTokens: number | undefined;
  /** `[general] model`. */
  model: string | undefined;
}

/**
 * Reads `[context]`, `[safety] context_limit` and `[general] model` of an `ouro.toml`. Unlike in `phantom.yaml`, the
 * `_pct` settings are fractions, such as 0.70.
 * @throws {ConfigError} With the key, value and line of each mistake.
 * @example
 * const { policy, windowTokens } = readOuroToml(readFileSync("ouro.toml", "utf8"));
 */
export function readOuroToml(text: string, path = "ouro.toml"): OuroConfig {
  const tables = readTables(text, path);
  const fields = new SettingsReader("context.", tables.get("context") ?? new Map());
  const safety = new SettingsReader("safety.", tables.get("safety") ?? new Map());
  const fraction = (value: number) => {
    if (value > 0 && value <= 1) return undefined;
    const meant = value > 1 && value <= 100 ? ` (write ${value / 100} for ${value} %)` : "";
    return `must be a fraction above 0 and at most 1${meant}`;
  };
  const whole = (least: number) => (value: number) =>
    Number.isInteger(value) && value >= least ? undefined : `must be a whole number, at least ${least}`;
  const soft = fields.number("soft_threshold_pct", fraction);
  const hard = fields.number("hard_threshold_pct", fraction);
  const carryover = fields.number("carryover_turns", whole(0));
  const max = fields.number("max_restarts", whole(0));
  const auto = fields.boolean("auto_restart");
  fields.unknown();
  const limit = safety.number("context_limit", whole(256));
  if (fields.problems.length === 0 && (soft ?? 0.7) >= (hard ?? 0.9)) {
    fields.problem(
      soft === undefined ? "hard_threshold_pct" : "soft_threshold_pct",
      `the soft threshold (${soft ?? 0.7}) must be below the hard threshold (${hard ?? 0.9})`,
    );
  }
  const problems = [...fields.problems, ...safety.problems];
  if (problems.length > 0) throw new ConfigError(path, problems);
  const model = tables.get("general")?.get("model")?.value;
  return {
    policy: {
      thresholds: {
        warning: null,
        ceiling: null,
        soft: share((soft ?? 0.7) * 100),
        hard: share((hard ?? 0.9) * 100),
        reserve: null,
      },
      compact: null,
      restart: { carryoverTurns: carryover ?? 5, max: max ?? null, how: auto === false ? "ask" : "auto" },
    },
    windowTokens: limit ?? undefined,
    model: typeof model === "string" ? model : undefined,
  };
}

/**
 * Returns `[safety] context_limit` of an `ouro.toml`, in tokens, whatever is wrong with the rest of it. `undefined` if there is
 * none.
 * @example
 * ouroContextLimit("[safety]\ncontext_limit = 32768"); // 32768
 */
export function ouroContextLimit(text: string): number | undefined {
  try {
    const limit = readTables(text, "ouro.toml").get("safety")?.get("context_limit")?.value;
    return typeof limit === "number" && Number.isInteger(limit) && limit > 0 ? limit : undefined;
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

/** Reads the scalars of every table. Skips multi-line strings and lists. */
function readTables(text: string, path: string): Map<string, Map<string, Scalar>> {
  const tables = new Map<string, Map<string, Scalar>>();
  let table = "";
  let until: string | undefined;
  let depth = 0;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = index + 1;
    if (until !== undefined) {
      if (raw.includes(until)) until = undefined;
      continue;
    }
    const bare = raw.trim();
    if (depth > 0) {
      depth += bracketDepth(bare);
      continue;
    }
    if (bare === "" || bare.startsWith("#")) continue;
    const header = /^\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$/.exec(bare);
    if (header !== null) {
      table = header[1]!.replaceAll(/["']/g, "");
      continue;
    }
    const match = /^([A-Za-z0-9_."'-]+)\s*=\s*(.+)$/.exec(bare);
    if (match === null) {
      if (["context", "safety", "general"].includes(table)) {
        throw new ConfigError(path, [`${table}: expected "key = value", found ${bare} (line ${line})`]);
      }
      continue;
    }
    const value = match[2]!;
    const triple = /^("""|''')/.exec(value)?.[1];
    if (triple !== undefined) {
      if (!value.slice(3).includes(triple)) until = triple;
      continue;
    }
    if (value.startsWith("[")) {
      depth = Math.max(0, bracketDepth(value));
      continue;
    }
    const full = [table, match[1]!.replaceAll(/["']/g, "")].filter((part) => part !== "").join(".");
    if (value.startsWith("{")) {
      for (const part of value.slice(1, value.lastIndexOf("}")).split(",")) {
        const inner = /^\s*([\w-]+)\s*=\s*(.+?)\s*$/.exec(part);
        if (inner !== null) addSetting(tables, `${full}.${inner[1]}`, inner[2]!, line, path);
      }
      continue;
    }
    addSetting(tables, full, value, line, path);
  }
  return tables;
}

function addSetting(
  tables: Map<string, Map<string, Scalar>>,
  full: string,
  value: string,
  line: number,
  path: string,
): void {
  const dot = full.lastIndexOf(".");
  const name = full.slice(0, Math.max(0, dot));
  const key = full.slice(dot + 1);
  const table = tables.get(name) ?? new Map<string, Scalar>();
  if (table.has(key)) throw new ConfigError(path, [`${full}: is set twice, remove one (line ${line})`]);
  table.set(key, { value: scalar(value), line });
  tables.set(name, table);
}

function bracketDepth(text: string): number {
  const bare = text.replaceAll(/"[^"]*"|'[^']*'/g, "").replace(/#.*$/, "");
  return bare.split("[").length - bare.split("]").length;
}

function scalar(raw: string): Scalar["value"] {
  const quoted = /^(["'])(.*?)\1\s*(?:#.*)?$/.exec(raw);
  if (quoted !== null) return quoted[2]!;
  const value = raw.replace(/\s*#.*$/, "").trim();
  if (value === "true" || value === "false") return value === "true";
  const digits = value.replaceAll("_", "");
  return /^[-+]?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(digits) ? Number(digits) : value;
}
