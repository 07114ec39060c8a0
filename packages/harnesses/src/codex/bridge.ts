import { join } from "node:path";
import type { BridgePart, Fields, Known, Places } from "../bridge/adapter.ts";
import { numberAt, textAt, UNKNOWN_WINDOW } from "../fields.ts";

const KEY = "model_auto_compact_token_limit";
/** Codex never compacts later than at this share of the window. */
const LATEST = 0.9;

/** Codex CLI. Its limit only lowers the line. */
export const codexBridge: BridgePart = {
  name: "Codex CLI",
  control: "next_session",
  format: "toml",
  programs: ["codex"],
  settingsFile: (places) => join(folder(places), "config.toml"),
  envFile: (places) => join(folder(places), ".env"),
  folders: (places) => [folder(places)],
  layers: (places) => [
    ...(places.platform === "win32" ? [] : ["/etc/codex/managed_config.toml"]),
    join(places.project, ".codex", "config.toml"),
  ],
  sessions: (places) => join(folder(places), "sessions"),
  model: (settings) => textAt(settings, ["model"]),
  window: (settings) => numberAt(settings, ["model_context_window"]),
  express(wanted, _settings, { windowTokens }) {
    if (wanted.tokens === undefined) return UNKNOWN_WINDOW;
    const latest = windowTokens === undefined ? wanted.tokens : Math.floor(windowTokens * LATEST);
    return [{ path: [KEY], value: Math.max(1, Math.min(wanted.tokens, latest)) }];
  },
  line(settings, known) {
    const { value, by } = decided(settings, known);
    const latest = known.windowTokens === undefined ? undefined : Math.floor(known.windowTokens * LATEST);
    const tokens = value === undefined ? latest : Math.min(value, latest ?? value);
    if (tokens === undefined) return { line: { kind: "share", share: LATEST } };
    return { line: { kind: "tokens", tokens }, ...(by !== undefined && { by }) };
  },
};

const folder = ({ env, home }: Places) => env.CODEX_HOME || join(home, ".codex");

function decided(settings: Fields, { layers, commandLines }: Known): { value?: number; by?: string } {
  for (const line of commandLines) {
    const text = line.map(
      (part) => /^(?:-c|--config=)?\s*model_auto_compact_token_limit=(\d+)$/.exec(part)?.[1],
    );
    const value = text.find((digits) => digits !== undefined);
    if (value !== undefined) return { value: Number(value), by: `-c ${KEY}` };
  }
  for (const layer of layers) {
    const value = numberAt(layer.settings, [KEY]);
    if (value !== undefined) return { value, by: `${KEY} in ${layer.name}` };
  }
  const profile = textAt(settings, ["profile"]);
  const own = profile === undefined ? undefined : numberAt(settings, ["profiles", profile, KEY]);
  if (own !== undefined) return { value: own, by: `profiles.${profile}.${KEY}` };
  const value = numberAt(settings, [KEY]);
  return value === undefined ? {} : { value };
}
