import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isRevision, modelNames, plainName } from "@plimsoll/fold";
import { calcPrice, findProvider, type MatchLogic } from "@pydantic/genai-prices";
import { WINDOW_OVERRIDES } from "./window-overrides.ts";

/** Providers of `@pydantic/genai-prices`, which gives no list of them. */
const PROVIDERS =
  "openai anthropic google groq mistral x-ai deepseek cohere aws azure openrouter together fireworks perplexity " +
  "huggingface_together avian novita moonshotai cerebras huggingface_cerebras minimax";

/**
 * The moment whose prices are taken: a table must not depend on when it is written, and some prices have dates or hours of the
 * day. At noon UTC, no provider's night discount or rush hours hold.
 */
const PRICED_AT = new Date("2026-11-28T12:00:00Z");

/** Every name that the library lists, in lower case. */
export function listedNames(): string[] {
  const names = new Set<string>();
  const add = (rule: MatchLogic): void => {
    if ("or" in rule) for (const part of rule.or) add(part);
    else if ("and" in rule) for (const part of rule.and) add(part);
    else if ("equals" in rule) names.add(rule.equals.toLowerCase());
    else if ("starts_with" in rule) names.add(rule.starts_with.toLowerCase());
  };
  for (const providerId of PROVIDERS.split(" ")) {
    const provider = findProvider({ providerId });
    if (provider === undefined) throw new Error(`The library has no provider ${providerId}.`);
    for (const model of provider.models) {
      names.add(model.id.toLowerCase());
      add(model.match);
    }
  }
  // A provider's prefix is taken off before a name is looked up.
  return [...names].filter((name) => !name.includes("/")).sort();
}

/** What the library knows of a model. Undefined for a name that only begins as a listed one: nothing is guessed from a sibling. */
export function libraryEntry(name: string) {
  // The library exposes its table only through a price calculation.
  const found = calcPrice({ input_tokens: 0, output_tokens: 0 }, name, { timestamp: PRICED_AT });
  if (found === null || found === undefined) return undefined;
  return isRevision(name, found.model.id) || means(found.model.match, name) ? found : undefined;
}

/** The window of a model as the library has it, in tokens. */
export function libraryWindow(name: string): number | undefined {
  const tokens = libraryEntry(name)?.model.context_window;
  return tokens === undefined || tokens <= 0 ? undefined : tokens;
}

/** Whether a rule that a name satisfies says all of the name, and not only how it begins or what is in it. */
function means(rule: MatchLogic, name: string): boolean {
  if ("or" in rule) return rule.or.some((part) => means(part, name));
  if ("and" in rule) return rule.and.some((part) => means(part, name));
  if ("equals" in rule) return rule.equals.toLowerCase() === name;
  if ("starts_with" in rule) return isRevision(name, rule.starts_with);
  if ("regex" in rule) return /^\^.*\$$/.test(rule.regex) && new RegExp(rule.regex).test(name);
  return false;
}

export interface Listed<Value> {
  value: Value;
  /** Whether the revisions of the name have the value too. */
  revised: boolean;
}

/** Every name with a size, as `plainName` writes it: the overrides, and the library's where no override is. */
function listedWindows(): Map<string, Listed<number>> {
  const windows = new Map<string, Listed<number>>();
  for (const name of listedNames()) {
    const tokens = libraryWindow(name);
    const plain = plainName(name);
    if (tokens === undefined || isOverridden(name)) continue;
    const known = windows.get(plain);
    if (known !== undefined && known.value !== tokens)
      throw new Error(`${plain} has ${known.value} and ${tokens} tokens. Add an override.`);
    const revised = libraryWindow(`${name}-001`) === tokens;
    windows.set(plain, { value: tokens, revised: revised || known?.revised === true });
  }
  for (const { tokens, models } of WINDOW_OVERRIDES) {
    for (const model of models.split(" "))
      windows.set(model.replace("$", ""), { value: tokens, revised: !model.endsWith("$") });
  }
  return windows;
}

/** Whether an override says what size a name has. */
export function isOverridden(name: string): boolean {
  const plain = plainName(name);
  return WINDOW_OVERRIDES.some(({ models }) =>
    models
      .split(" ")
      .some((model) => (model.endsWith("$") ? plain === model.slice(0, -1) : isRevision(plain, model))),
  );
}

/** Names by value. A name that ends with `$` does not match its revisions. */
export function namesByValue<Value>(listed: ReadonlyMap<string, Listed<Value>>): [Value, string][] {
  const revised = [...listed].filter(([, { revised }]) => revised);
  const names = new Map<Value, string[]>();
  for (const [name, { value, revised: isRevised }] of [...listed].sort(([one], [other]) =>
    one < other ? -1 : 1,
  )) {
    const others = revised.filter(([other]) => other !== name && isRevision(name, other));
    const [nearest] = others.sort(([one], [other]) => other.length - one.length);
    // A lookup tries what is left of a dated name after the name itself.
    const undated = modelNames(name)
      .slice(1)
      .find((other) => listed.has(other));
    const same = nearest?.[1] ?? (undated === undefined ? undefined : listed.get(undated));
    if (same?.value === value) continue;
    names.set(value, [...(names.get(value) ?? []), isRevised ? name : `${name}$`]);
  }
  return [...names].map(([value, some]) => [value, some.join(" ")]);
}

/** Names by window size. */
export const windowTable = (): [tokens: number, models: string][] =>
  namesByValue(listedWindows()).sort(([one], [other]) => one - other);

/** The source text of the table. */
export function windowTableSource(): string {
  const rows = windowTable().map(([tokens, models]) => `  [${tokens}, "${models}"],\n`);
  return (
    "// Written by `npm run windows` from @pydantic/genai-prices and scripts/window-overrides.ts. Do not edit.\n\n" +
    "/** Window sizes in tokens, each with the models that have it. One that ends with `$` has no revisions. */\n" +
    `export const WINDOW_TABLE: readonly (readonly [tokens: number, models: string])[] = [\n${rows.join("")}];\n`
  );
}

/** Writes a table of the fold if its script, at `url`, is the one that runs. */
export function writeTable(name: string, url: string, sourceOf: () => string): void {
  if (process.argv[1] !== fileURLToPath(url)) return;
  writeFileSync(new URL(`../packages/fold/src/history/${name}.ts`, url), sourceOf());
}

writeTable("window-table", import.meta.url, windowTableSource);
