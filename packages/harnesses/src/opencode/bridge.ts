import { join } from "node:path";
import type { BridgePart, DecidedLine, Expression, Fields, Known, Places } from "../bridge/adapter.ts";
import type { WantedLine } from "../bridge/line.ts";
import { at, isFields, isTrue, numberAt, pathText, textAt, UNKNOWN_WINDOW } from "../fields.ts";

const RESERVED = ["compaction", "reserved"] as const;
const AUTO = ["compaction", "auto"] as const;
/** Room that is kept free below an input limit if no setting says how much, in tokens. */
const DEFAULT_RESERVED = 20_000;
/** The most output that is requested of any model, in tokens. */
const MOST_OUTPUT = 32_000;

export const configFolder = ({ home, env }: Places, name: string) =>
  join(env.XDG_CONFIG_HOME || join(home, ".config"), name);

/** opencode. Without a limit for input its line follows from the model, so the model's limits must be in the settings. */
export const opencodeBridge: BridgePart = {
  name: "opencode",
  control: "next_session",
  format: "json",
  programs: ["opencode"],
  settingsFile: (places) => join(configFolder(places, "opencode"), "opencode.json"),
  otherSettingsFile: (places) => join(configFolder(places, "opencode"), "opencode.jsonc"),
  folders: (places) => [configFolder(places, "opencode")],
  layers: (places) => [
    ...(places.env.OPENCODE_CONFIG ? [places.env.OPENCODE_CONFIG] : []),
    join(places.project, "opencode.jsonc"),
    join(places.project, "opencode.json"),
    join(configFolder(places, "opencode"), "opencode.jsonc"),
  ],
  model: (settings) => textAt(settings, ["model"]),
  window: (settings, model) => limitAt(settings, model, "context"),
  switch: { path: AUTO, on: true },
  express: expressLimit,
  line: limitLine,
};

function expressLimit(wanted: WantedLine, settings: Fields, known: Known): Expression {
  const { model, windowTokens } = known;
  const path = limitPath(model);
  if (path === undefined) return "the model is unknown; name it with --model provider/model";
  if (wanted.tokens === undefined || windowTokens === undefined) return UNKNOWN_WINDOW;
  if (limitAt(settings, model, "context") === undefined || limitAt(settings, model, "output") === undefined)
    return `${path.join(".")} must state context and output, because opencode takes limits only as a whole`;
  const reserved = layered(RESERVED, settings, known).value ?? defaultReserve(settings, known);
  const value = Math.min(windowTokens, Math.max(reserved + 1, wanted.tokens + reserved));
  return [{ path: [...path, "input"], value }];
}

export function limitLine(settings: Fields, known: Known): DecidedLine {
  const { model, windowTokens } = known;
  for (const layer of [...known.layers, { name: "", settings }]) {
    const auto = at(layer.settings, AUTO);
    if (auto === true) break;
    if (auto === false)
      return {
        line: { kind: "off" },
        by: layer.name === "" ? "compaction.auto" : `compaction.auto in ${layer.name}`,
      };
  }
  if (isTrue(known.env.OPENCODE_DISABLE_AUTOCOMPACT))
    return { line: { kind: "off" }, by: "OPENCODE_DISABLE_AUTOCOMPACT" };
  const path = limitPath(model);
  const input = path === undefined ? {} : layered([...path, "input"], settings, known);
  if (input.value !== undefined && input.value > 0) {
    const reserved = layered(RESERVED, settings, known).value ?? defaultReserve(settings, known);
    const tokens = Math.max(0, input.value - reserved);
    return { line: { kind: "tokens", tokens }, ...(input.by !== undefined && { by: input.by }) };
  }
  if (windowTokens === undefined || path === undefined) return { line: { kind: "unknown" } };
  return { line: { kind: "tokens", tokens: Math.max(0, windowTokens - outputOf(settings, model)) } };
}

const outputOf = (settings: Fields, model: string | undefined) =>
  Math.min(MOST_OUTPUT, limitAt(settings, model, "output") || MOST_OUTPUT);

const defaultReserve = (settings: Fields, { model }: Known) =>
  Math.min(DEFAULT_RESERVED, outputOf(settings, model));

export function layered(
  path: readonly string[],
  settings: Fields,
  { layers }: Known,
): { value?: number; by?: string } {
  for (const layer of layers) {
    const value = numberAt(layer.settings, path);
    if (value !== undefined) return { value, by: `${pathText({ path })} in ${layer.name}` };
  }
  const value = numberAt(settings, path);
  return value === undefined ? {} : { value };
}

/** Where the limits of a model such as `openai/gpt-5.1` are. */
function limitPath(model: string | undefined): string[] | undefined {
  const [, provider, name] = /^([^/]+)\/(.+)$/.exec(model ?? "") ?? [];
  return provider === undefined || name === undefined
    ? undefined
    : ["provider", provider, "models", name, "limit"];
}

function limitAt(settings: Fields, model: string | undefined, key: string): number | undefined {
  const path = limitPath(model);
  const limit = path === undefined ? undefined : at(settings, path);
  return isFields(limit) ? numberAt(limit, [key]) : undefined;
}
