import { join } from "node:path";
import type { HarnessAdapter, Places } from "../bridge/adapter.ts";
import { decidedFraction, expressFraction, fractionLine } from "../bridge/fractions.ts";
import { textAt } from "../fields.ts";

const PATH = ["model", "compressionThreshold"] as const;
const DEFAULT = 0.5;
/** Gemini CLI has two window sizes, whatever the model's catalog says. */
const WINDOW = 1_048_576;
const GEMMA_WINDOW = 256_000;

const folder = (places: Places) => join(places.env.GEMINI_CLI_HOME || places.home, ".gemini");

/** Gemini CLI. */
export const geminiCli: HarnessAdapter = {
  family: "gemini-cli",
  name: "Gemini CLI",
  control: "next_session",
  format: "json",
  programs: ["gemini"],
  settingsFile: (places) => join(folder(places), "settings.json"),
  folders: (places) => [folder(places)],
  layers: (places) => [systemFile(places), join(places.project, ".gemini", "settings.json")],
  sessions: (places) => join(folder(places), "tmp"),
  model: (settings) => textAt(settings, ["model", "name"]),
  window: (_settings, model) => (/^gemma/i.test(model ?? "") ? GEMMA_WINDOW : WINDOW),
  express: (wanted, _settings, known) => expressFraction(PATH, wanted, known, { least: 0.000001, most: 1 }),
  line(settings, known) {
    const { value, by } = decidedFraction(PATH, settings, known);
    // 0 counts as not set.
    return fractionLine(value || DEFAULT, known, by);
  },
};

function systemFile({ env, platform }: Places): string {
  if (env.GEMINI_CLI_SYSTEM_SETTINGS_PATH) return env.GEMINI_CLI_SYSTEM_SETTINGS_PATH;
  if (platform === "darwin") return "/Library/Application Support/GeminiCli/settings.json";
  return platform === "win32"
    ? "C:\\ProgramData\\gemini-cli\\settings.json"
    : "/etc/gemini-cli/settings.json";
}
