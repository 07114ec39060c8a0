import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isRevision, plainName } from "@plimsoll/fold";
import { calcPrice, findProvider, type MatchLogic } from "@pydantic/genai-prices";
import { WINDOW_OVERRIDES } from "./window-overrides.ts";

/** Providers of `@pydantic/genai-prices`, which gives no list of them. */
const PROVIDERS =
  "openai anthropic google groq mistral x-ai deepseek cohere aws azure openrouter together fireworks perplexity " +
  "huggingface_together avian novita moonshotai cerebras huggingface_cerebras minimax";

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

/** The window of a model as the library has it, in tokens. */
export function libraryWindow(name: string): number | undefined {
  // The library exposes its table only through a price calculation; the price itself is not used.
  const model = calcPrice({ input_tokens: 0, output_tokens: 0 }, name)?.model;
  if (model?.context_window === undefined || model.context_window <= 0) return undefined;
  // It takes a name that only begins as a listed one for the listed model. That does for a price; a window must not be
  // guessed from an older sibling's.
  return isRevision(name, model.id) || means(model.match, name) ? model.context_window : undefined;
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

interface Listed {
  tokens: number;
  /** Whether the revisions of the name have the size too. */
  revised: boolean;
}

/** Every name with a size, as `plainName` writes it: the overrides, and the library's where no override is. */
function listedWindows(): Map<string, Listed> {
  const windows = new Map<string, Listed>();
  for (const name of listedNames()) {
    const tokens = libraryWindow(name);
    const plain = plainName(name);
    if (tokens === undefined || isOverridden(name)) continue;
    const known = windows.get(plain);
    if (known !== undefined && known.tokens !== tokens)
      throw new Error(`${plain} has ${known.tokens} and ${tokens} tokens. Add an override.`);
    const revised = libraryWindow(`${name}-001`) === tokens;
    windows.set(plain, { tokens, revised: revised || known?.revised === true });
  }
  for (const { tokens, models } of WINDOW_OVERRIDES) {
    for (const model of models.split(" "))
      windows.set(model.replace("$", ""), { tokens, revised: !model.endsWith("$") });
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

/** Names by window size. A name that ends with `$` does not match its revisions. */
export function windowTable(): [tokens: number, models: string][] {
  const windows = listedWindows();
  const revised = [...windows].filter(([, { revised }]) => revised);
  const bySize = new Map<number, string[]>();
  for (const [name, { tokens, revised: isRevised }] of [...windows].sort()) {
    const others = revised.filter(([other]) => other !== name && isRevision(name, other));
    const [nearest] = others.sort(([one], [other]) => other.length - one.length);
    if (nearest?.[1].tokens === tokens) continue;
    bySize.set(tokens, [...(bySize.get(tokens) ?? []), isRevised ? name : `${name}$`]);
  }
  return [...bySize]
    .sort(([one], [other]) => one - other)
    .map(([tokens, names]) => [tokens, names.join(" ")]);
}

/** The source text of the table. */
export function windowTableSource(): string {
  const rows = windowTable().map(([tokens, models]) => `  [${tokens}, "${models}"],\n`);
  return (
    "// Written by `npm run windows` from @pydantic/genai-prices and scripts/window-overrides.ts. Do not edit.\n\n" +
    "/** Window sizes in tokens, each with the models that have it. One that ends with `$` has no revisions. */\n" +
    `export const WINDOW_TABLE: readonly (readonly [tokens: number, models: string])[] = [\n${rows.join("")}];\n`
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(
    new URL("../packages/fold/src/history/window-table.ts", import.meta.url),
    windowTableSource(),
  );
}
