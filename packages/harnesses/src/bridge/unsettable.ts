import { join } from "node:path";
import type { HarnessAdapter } from "./adapter.ts";

/** Harnesses without any setting for their line. They are listed, so that nobody searches for one. */
function unsettable(
  family: string,
  name: string,
  programs: readonly string[],
  folder: string,
  instead: string,
): HarnessAdapter {
  return {
    family,
    name,
    control: "none",
    format: "json",
    programs,
    settingsFile: (places) => join(places.home, folder),
    folders: (places) => [join(places.home, folder)],
    layers: () => [],
    express: () => "it has no setting for its line",
    line: () => ({ line: { kind: "unknown" } }),
    instead,
  };
}

export const copilot = unsettable(
  "copilot",
  "Copilot CLI",
  ["copilot"],
  ".copilot",
  "It compacts at about 80 % of its limit. Plimsoll shows its turns through OTLP; compact by hand with /compact.",
);
export const cursor = unsettable(
  "cursor",
  "Cursor",
  ["cursor-agent", "cursor"],
  ".cursor",
  "Its preCompact hook only observes. Compact by hand with /summarize.",
);
export const amp = unsettable(
  "amp",
  "Amp",
  ["amp"],
  ".local/share/amp",
  "Import its threads to see its line. Start a new thread with its handoff.",
);
