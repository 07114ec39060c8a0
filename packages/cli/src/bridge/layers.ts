import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { BridgePart, Fields, LayerFile, Places, SettingsLayer } from "@plimsoll/harnesses/bridge";

const NAMES = { folder: "managed settings ", server: "server-managed settings " };
/** Of a name, in characters. An acknowledgement has room for 200 with the key. */
const LONGEST = 120;

/**
 * Settings files that win over those of a person, strongest first.
 * @param own listed in its folder, even if it does not exist yet
 */
export function layerFiles({ managed, layers }: BridgePart, places: Places, own?: string): LayerFile[] {
  const list = (folder: string) => {
    const names = namesIn(folder);
    return own === undefined || dirname(own) !== folder ? names : [...new Set([...names, basename(own)])];
  };
  return [...(managed?.files(places, list) ?? []), ...layers(places).map((path) => ({ path }))];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

export function layerOf({ path, managed }: LayerFile, settings: Fields): SettingsLayer {
  if (managed === undefined) return { name: path.slice(-LONGEST), settings };
  return { name: `${NAMES[managed]}${path.slice(-LONGEST)}`, settings, managed };
}
