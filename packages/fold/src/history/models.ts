import type { WindowLookup } from "./window.ts";
import { WINDOW_TABLE } from "./window-table.ts";

/**
 * A model served by Ollama has the window it was loaded with, whatever the model could hold. Without a prefix its tag
 * gives it away: `deepseek-r1:14b`, `llama3.1:latest`, `gemma3:27b-it-q4_K_M`.
 */
const LOCAL = /^ollama(?:_chat)?[/:]|:(?:latest|[a-z]?[\d.]+(?:x[\d.]+)?[bm](?:[-_].*)?)$/i;
const ONE_MILLION = /\[1m\]$/i;
const PATH = /^.*\//s;
/** As Pydantic AI, LangChain and the like write it: `openai:gpt-4o`. */
const PROVIDER =
  /^(?:(?:amazon-)?bedrock(?:_converse)?|anthropic|azure(?:_ai|_openai)?|cohere|deepseek|fireworks(?:_ai)?|gateway|github|google(?:-gla|-vertex|_genai|_vertexai)?|groq|mistral(?:ai)?|moonshot(?:ai)?|openai(?:-chat|-responses)?|openrouter|together(?:_ai)?|vertex(?:_?ai)?|xai):/i;
/** OpenRouter's ways to the same model. Not `:free` and `:extended`: those may come with another window. */
const ROUTE = /:(?:beta|exacto|floor|nitro|online|thinking)$/i;
const REGION_AND_VENDOR =
  /^(?:[a-z]{2,6}(?:-[a-z]{2,6})?\.)?(?:anthropic|amazon|meta|mistral|cohere|ai21|deepseek|moonshotai?|openai|qwen|zai)\./i;
/** Only Claude has a version of Bedrock without a colon: `deepseek-v3` is a model of its own. */
const BEDROCK_VERSION = /-v?\d+:\d+$|(?<=claude-.*)-v\d+$/i;
const VERTEX_VERSION = /@(?:default|latest|\d{3})$/i;
/** Google also writes the month before the year: `gemini-3-pro-preview-11-2025`. */
const DATE = /[-@](?:\d{4}-?\d{2}-?\d{2}|\d{2}-20\d{2})$/;
/** A model that OpenAI or Azure tuned has the window of the one that it was made from. Its price is another one. */
const FINE_TUNED = /^(?:.*[/:])?ft:([^:]+):.*$|^(.*)\.ft-[\w-]*$/s;
/** Characters of a name that is taken apart. The protocol takes 200. */
const LONGEST_NAME = 256;
/** What a spelling may add to the name of a model, in the order in which it is taken off. */
const ADDITIONS = [PATH, PROVIDER, REGION_AND_VENDOR, ROUTE, BEDROCK_VERSION, VERTEX_VERSION, DATE];

/**
 * The names to look a model up by, most exact first: as given, then without provider prefix, version and date. A
 * shorter name is never tried, so that an unknown model is not taken for its older sibling.
 */
export function modelNames(model: string): string[] {
  const names = [model];
  if (model.length > LONGEST_NAME) return names;
  // Grows while it is read: what is left of a name may have another addition.
  for (const name of names) {
    for (const addition of ADDITIONS) {
      const rest = name.replace(addition, "");
      if (rest !== "" && !names.includes(rest)) names.push(rest);
    }
  }
  return names;
}

/** The one way to write a name: `Claude-Sonnet-5.5` and `claude-sonnet-5-5` are the same. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/(?<=\d)\.(?=\d)/g, "-");
}

/** The name that all spellings of a model have in common: without provider prefix, route, version of a host and date. */
export function modelKey(model: string): string {
  return modelNames(plainName(model)).reduce((shortest, name) =>
    name.length < shortest.length ? name : shortest,
  );
}

/** Whether a size that is known under a name holds for a model. */
export function isNamedBy(model: string, name: string): boolean {
  const plain = plainName(name);
  return modelNames(model).some((one) => plainName(one) === plain);
}

/** A lookup among sizes by name. The most exact spelling wins. Sizes in tokens. */
export function lookupByName(sizes: ReadonlyMap<string, number>): WindowLookup {
  if (sizes.size === 0) return () => undefined;
  const plain = new Map([...sizes].map(([name, tokens]) => [plainName(name), tokens]));
  return (model) => first(modelNames(model), (name) => sizes.get(name) ?? plain.get(plainName(name)));
}

/** A lookup over a catalog that understands `[1m]`, provider prefixes, dates and fine-tuned models. Sizes in tokens. */
export function windowLookup(catalog: (name: string) => number | undefined): WindowLookup {
  const known = new Map<string, number | undefined>();
  return (model) => {
    if (known.has(model)) return known.get(model);
    const tokens = find(model);
    if (known.size < 10_000) known.set(model, tokens);
    return tokens;
  };

  function find(model: string): number | undefined {
    if (isOneMillion(model)) return 1_000_000;
    return isLocal(model) ? undefined : first(modelNames(model.replace(FINE_TUNED, "$1$2")), catalog);
  }
}

/** Whether the name of a model states its size. */
export function isOneMillion(model: string): boolean {
  return ONE_MILLION.test(model);
}

/** Whether a model runs with the window it was loaded with. */
export function isLocal(model: string): boolean {
  return LOCAL.test(model);
}

function first<Value>(
  names: readonly string[],
  lookup: (name: string) => Value | undefined,
): Value | undefined {
  for (const name of names) {
    const value = lookup(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** What may follow a listed name and still mean the same model: a date, a revision, `-latest`, a preview's date. */
const REVISION = /^(?:[-@]\d{4}-?\d{2}-?\d{2}|-\d{3}|-v\d+|-latest|-(?:preview|exp)(?:-\d{2}-\d{2,4})?)*$/;

/** Whether a name is a listed one, or one of its revisions. Anything else may be another model with another window. */
export function isRevision(name: string, listed: string): boolean {
  return name.startsWith(listed) && REVISION.test(name.slice(listed.length));
}

/** Values, each with the names of the models that have it, by spaces. One that ends with `$` has no revisions. */
type ValueTable<Value> = readonly (readonly [value: Value, models: string])[];

const listedIn = <Value>(table: ValueTable<Value>) =>
  table.flatMap(([value, models]) =>
    models.split(" ").map((model) => ({ model: model.replace("$", ""), value, alone: model.endsWith("$") })),
  );

/** The value of a name, as it is written, or of the listed name that it is a revision of. */
function namedIn<Value>(table: ValueTable<Value>): (name: string) => Value | undefined {
  const listed = listedIn(table);
  const values = new Map(listed.map(({ model, value }) => [model, value]));
  // The longest first: of two listed names that a name begins with, the longer one is meant.
  const withRevisions = listed
    .filter(({ alone }) => !alone)
    .sort((one, other) => other.model.length - one.model.length);
  return (name) => {
    const asked = plainName(name);
    return values.get(asked) ?? withRevisions.find(({ model }) => isRevision(asked, model))?.value;
  };
}

/** Window sizes of the models of all large providers. Tokens. Undefined for a name that is not listed. */
export const catalogWindow = windowLookup(namedIn(WINDOW_TABLE));

/** A lookup in a table of any values, by every spelling of a model. Undefined for models that run locally. */
export function catalogOf<Value>(table: ValueTable<Value>): (model: string) => Value | undefined {
  const named = namedIn(table);
  const remembered = new Map<string, Value | undefined>();
  return (model) => {
    const known = remembered.get(model);
    if (known !== undefined || remembered.has(model)) return known;
    const found = isLocal(model) ? undefined : first(modelNames(model.replace(ONE_MILLION, "")), named);
    // A project has few models, and a sender can make up any number.
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(model, found);
    return found;
  };
}

const MOST_REMEMBERED = 1_000;

/** A model and the size of its window in tokens. */
export interface ModelSize {
  model: string;
  tokens: number;
}

/** Words that name no other kind of model. */
const QUALIFIER = /^(?:preview|exp|latest|free|extended|\d+)$/;

/** What the versions of a model have in common: `claude-sonnet` of `claude-sonnet-5-5`, `kimi-pro` of `kimi-k3.1-pro`. */
export function modelFamily(model: string): string {
  return wordsOf(model)
    .filter((word) => !QUALIFIER.test(word))
    .map((word) => word.replace(/^(?:k|v)\d+$/, "").replace(/^([a-z]+)\d+$/, "$1"))
    .filter((word) => word !== "")
    .sort()
    .join("-");
}

const wordsOf = (model: string) => modelKey(model).replace(ONE_MILLION, "").split(/[-:]/);

/** The numbers of a version, most significant first. */
function versionOf(model: string): number[] {
  return wordsOf(model).flatMap((word) => /^[a-z]*(\d+)$/.exec(word)?.slice(1).map(Number) ?? []);
}

function compareVersions(one: string, other: string): number {
  const [a, b] = [versionOf(one), versionOf(other)];
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The newest model of the same family whose size is known; of two such, the smaller. A size to offer to a person, not to
 * assume: a new version may come with another window.
 * @param others sizes known besides the catalog's
 */
export function familySize(model: string, others: readonly ModelSize[] = []): ModelSize | undefined {
  if (isLocal(model)) return undefined;
  const family = modelFamily(model);
  if (family === "") return undefined;
  let newest: ModelSize | undefined;
  for (const one of [...others, ...(catalogFamilies().get(family) ?? [])]) {
    if (modelFamily(one.model) !== family) continue;
    const newer = newest === undefined ? 1 : compareVersions(one.model, newest.model);
    if (newer > 0 || (newer === 0 && one.tokens < newest!.tokens)) newest = one;
  }
  return newest;
}

let families: Map<string, ModelSize[]> | undefined;

/** The listed models by family. Made when it is first asked for: most programs never do. */
function catalogFamilies(): ReadonlyMap<string, readonly ModelSize[]> {
  if (families !== undefined) return families;
  families = new Map();
  for (const { model, value: tokens } of listedIn(WINDOW_TABLE)) {
    const family = modelFamily(model);
    families.set(family, [...(families.get(family) ?? []), { model, tokens }]);
  }
  return families;
}
