import { dirname, join, resolve } from "node:path";
import type { BridgePart, Places } from "../bridge/adapter.ts";
import { decidedFraction, expressFraction, fractionLine } from "../bridge/fractions.ts";
import { textAt } from "../fields.ts";

const PATH = ["model", "compressionThreshold"] as const;
const DEFAULT = 0.5;
/** Gemini CLI has two window sizes, whatever the model's catalog says. */
const WINDOW = 1_048_576;
const GEMMA_WINDOW = 256_000;

const folder = (places: Places) => join(places.env.GEMINI_CLI_HOME || places.home, ".gemini");

/** Gemini CLI. */
export const geminiCliBridge: BridgePart = {
  name: "Gemini CLI",
  control: "next_session",
  format: "json",
  programs: ["gemini"],
  settingsFile: (places) => join(folder(places), "settings.json"),
  projectSettings: ({ project }) => join(project, ".gemini", "settings.json"),
  envFile,
  hidingEnvFile,
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

/** Gemini CLI loads only the first `.env` file that it finds, so a new file must not hide the one that it loads now. */
function envFile(
  { home, project, env }: Places,
  ofProject: boolean,
  exists: (path: string) => boolean,
): string {
  const users = envFilesIn(env.GEMINI_CLI_HOME || home);
  const projects = ofProject ? parents(project).flatMap(envFilesIn) : [];
  return [...projects, ...users].find(exists) ?? projects[0] ?? users[0]!;
}

function hidingEnvFile({ home, project }: Places, exists: (path: string) => boolean): string | undefined {
  const folders = parents(project);
  const end = folders.indexOf(resolve(home));
  return (end < 0 ? folders : folders.slice(0, end)).flatMap(envFilesIn).find(exists);
}

const envFilesIn = (folder: string) => [join(folder, ".gemini", ".env"), join(folder, ".env")];

function parents(folder: string): string[] {
  const start = resolve(folder);
  const above = dirname(start);
  return above === start ? [start] : [start, ...parents(above)];
}

function systemFile({ env, platform }: Places): string {
  if (env.GEMINI_CLI_SYSTEM_SETTINGS_PATH) return env.GEMINI_CLI_SYSTEM_SETTINGS_PATH;
  if (platform === "darwin") return "/Library/Application Support/GeminiCli/settings.json";
  return platform === "win32"
    ? "C:\\ProgramData\\gemini-cli\\settings.json"
    : "/etc/gemini-cli/settings.json";
}
