import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Fields, Known } from "@plimsoll/harnesses/bridge";
import { claudeCodeBridge } from "@plimsoll/harnesses/claude-code/bridge";
import { isFields, textAt } from "@plimsoll/harnesses/fields";
import type { StatusSample } from "@plimsoll/harnesses/status-line";
import type { ReportTarget } from "../background-report.ts";
import { layerFiles, layerOf } from "../bridge/layers.ts";
import type { Env } from "../home-folder.ts";

/** Claude Code's settings with the layers that win over them. */
export function claudeSettings(
  { windowTokens, project }: Pick<StatusSample, "windowTokens" | "project">,
  env: Env,
): { settings: Fields; known: Known } {
  const home = env.HOME || homedir();
  const places = { home, project: project ?? process.cwd(), env, platform: process.platform };
  const layers = layerFiles(claudeCodeBridge, places).flatMap((file) => {
    const settings = fieldsIn(file.path);
    return settings === undefined ? [] : [layerOf(file, settings)];
  });
  const known = { windowTokens, env, layers, commandLines: [] };
  return { settings: fieldsIn(claudeCodeBridge.settingsFile(places)) ?? {}, known };
}

function fieldsIn(path: string): Fields | undefined {
  const value = parsed(textOf(path) ?? "");
  return isFields(value) ? value : undefined;
}

/** The file in which Claude Code keeps the account that it is logged in to. */
export const claudeConfigFile = (env: Env): string =>
  join(env.CLAUDE_CONFIG_DIR || env.HOME || homedir(), ".claude.json");

export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

/** The server that `plimsoll connect` wrote into Claude Code's settings; undefined if there is none. */
export function targetIn(settings: unknown): ReportTarget | undefined {
  const endpoint = textAt(settings, ["env", "OTEL_EXPORTER_OTLP_ENDPOINT"]);
  const key = /(?:^|,)x-api-key=(plim_\w+)/.exec(
    textAt(settings, ["env", "OTEL_EXPORTER_OTLP_HEADERS"]) ?? "",
  )?.[1];
  const url = /^(https?:\/\/.+)\/otlp\/?$/.exec(endpoint ?? "")?.[1];
  return url === undefined || key === undefined ? undefined : { url, key };
}
