import type { AgentLevel, KnownLine } from "@plimsoll/harnesses/agent-tools";
import type { HarnessLine, Places } from "@plimsoll/harnesses/bridge";
import { ADAPTERS } from "@plimsoll/harnesses/bridge";
import type { CallingFamily } from "@plimsoll/harnesses/callers";
import { type BridgeTarget, knownOf } from "../bridge/harness-bridge.ts";
import { readSettings } from "../bridge/settings-session.ts";

/** The line that the server knows of an agent, in tokens; undefined while it knows only a default. */
export type ServerLine = KnownLine | undefined;

/**
 * Where an agent's line is: as its server has it from an acknowledgement, a report or a policy, else where its harness compacts with its
 * settings on this machine, else the end of the window.
 */
export function agentLine(
  server: ServerLine,
  own: HarnessLine,
  { windowTokens }: Pick<AgentLevel, "windowTokens">,
): KnownLine {
  if (server?.tokens !== undefined) return server;
  if (own.kind === "tokens") return { tokens: own.tokens, source: "harness" };
  return windowTokens === undefined
    ? { tokens: undefined, source: "unknown" }
    : { tokens: windowTokens, source: "window_end" };
}

/**
 * Where a harness compacts with the settings on this machine, by the size of the window. Settings that cannot be read say nothing.
 */
export async function settingsLine(
  family: CallingFamily,
  places: Places,
  home: string,
): Promise<(windowTokens: number | undefined) => HarnessLine> {
  const adapter = ADAPTERS.find((one) => one.family === family)!;
  const path = adapter.settingsFile(places);
  const target: BridgeTarget = { adapter, path, places, home, putBack: false };
  try {
    const { settings, own } = await readSettings(adapter, path, home);
    const known = await knownOf(target, own, []);
    return (windowTokens) =>
      adapter.line(settings, { ...known, windowTokens: windowTokens ?? known.windowTokens }).line;
  } catch {
    return () => ({ kind: "unknown" });
  }
}
