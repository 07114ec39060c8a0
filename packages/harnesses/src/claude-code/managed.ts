import { join } from "node:path";
import type { Fields, Known, ManagedPart, Places, SettingsLayer } from "../bridge/adapter.ts";
import { at, isTrue } from "../fields.ts";

/** Later names win, so an administrator can place files before and after it. */
const FILE = "50-plimsoll.json";
const SERVER_FILE = "remote-settings.json";
/** Keys that say how sources combine. A source with no other key does not count. */
const CONTROLS: readonly string[] = ["managedSourcesBehavior", "wslInheritsWindowsSettings"];
const PROVIDER = /^CLAUDE_CODE_USE_(BEDROCK|VERTEX|FOUNDRY|MANTLE|ANTHROPIC_AWS|ANTHROPIC_GOOGLE_CLOUD)$/;

export const managedSettings: ManagedPart = {
  file: (places) => join(fragments(places), FILE),
  files: (places, list) => [
    { path: join(configFolder(places), SERVER_FILE), managed: "server" },
    ...list(fragments(places))
      .filter((name) => name.endsWith(".json") && !name.startsWith("."))
      .toSorted()
      .toReversed()
      .map((name) => ({ path: join(fragments(places), name), managed: "folder" as const })),
    { path: join(systemFolder(places), "managed-settings.json"), managed: "folder" },
  ],
};

export function configFolder({ home, env }: Pick<Places, "home" | "env">): string {
  return env.CLAUDE_CONFIG_DIR || join(home, ".claude");
}

const fragments = (places: Places) => join(systemFolder(places), "managed-settings.d");

function systemFolder({ platform, system = "" }: Places): string {
  if (platform === "darwin") return join(system, "/Library/Application Support/ClaudeCode");
  if (platform === "win32") return join(system, "C:\\Program Files\\ClaudeCode");
  return join(system, "/etc/claude-code");
}

/**
 * The layers that Claude Code reads, strongest first; the one without a name is the file that the bridge writes. Settings from a
 * server replace those of the system folder unless they ask for a merge: `instead` names the server's if they replace that file.
 */
export function settingsInForce(
  settings: Fields,
  known: Known,
): { layers: readonly SettingsLayer[]; instead?: string } {
  const isManaged = known.weaker !== undefined;
  const own: SettingsLayer = { name: "", settings, ...(isManaged && { managed: "folder" }) };
  const all = [...known.layers, own, ...(known.weaker ?? [])];
  const server = all.find(({ managed }) => managed === "server");
  if (server === undefined) return { layers: all };
  if (!isServed(server, all, known)) return { layers: all.filter((layer) => layer !== server) };
  if (server.settings.managedSourcesBehavior === "merge") return { layers: all };
  const layers = all.map((layer) => (layer.managed === "folder" ? onlyVariables(layer) : layer));
  return { layers, ...(isManaged && { instead: server.name }) };
}

/** Claude Code ignores its copy of the server's settings when it talks to another provider than Anthropic or a gateway. */
function isServed({ settings }: SettingsLayer, all: readonly SettingsLayer[], { env }: Known): boolean {
  const variables = [env, ...all.map((layer) => at(layer.settings, ["env"]))];
  const isElsewhere = variables.flatMap((one) => Object.entries(one ?? {})).some(isOtherProvider);
  return Object.keys(settings).some((key) => !CONTROLS.includes(key)) && !isElsewhere;
}

const isOtherProvider = ([name, value]: readonly [string, unknown]) =>
  name === "ANTHROPIC_BASE_URL"
    ? !/^(https:\/\/api\.anthropic\.com\/?)?$/.test(String(value))
    : PROVIDER.test(name) && isTrue(String(value));

/** Claude Code takes variables from every managed source. */
const onlyVariables = (layer: SettingsLayer): SettingsLayer => ({
  ...layer,
  settings: { env: at(layer.settings, ["env"]) },
});
