import { join } from "node:path";
import type { BridgePart } from "./adapter.ts";

/** A harness without any setting for its line. It is listed, so that nobody searches for one. */
export function unsettable(
  name: string,
  programs: readonly string[],
  folder: string,
  instead: string,
): BridgePart {
  return {
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
