import { isTrue } from "../fields.ts";
import type { ConnectionValues, ConnectSettings, HarnessFile, HarnessSetting } from "./harness-settings.ts";

export const endpointOf = ({ url }: ConnectionValues) => `${url}/otlp`;
/** Exporters read headers as a list of name=value, and some send an encoded space as it is. */
export const headerOf = ({ key }: ConnectionValues) => `x-api-key=${key}`;
export const hostOf = ({ host }: ConnectionValues) => `host.name=${encodeURIComponent(host)}`;

/** Longest time that an export before the end of a harness may take, in ms. */
export const EXPORT_MS = "200";

export const env = (name: string, value: string, mode?: HarnessSetting["mode"]): HarnessSetting => ({
  path: [name],
  value,
  ...(mode !== undefined && { mode }),
});

export const inEnv = (settings: readonly HarnessSetting[]) =>
  settings.map((setting) => ({ ...setting, path: ["env", ...setting.path] }));
export const pathsInEnv = (paths: readonly string[][]) => paths.map((path) => ["env", ...path]);

/** Telemetry settings that Gemini CLI and its fork Qwen Code share. */
export const geminiTelemetry = (values: ConnectionValues): HarnessSetting[] => [
  { path: ["telemetry", "enabled"], value: true },
  { path: ["telemetry", "target"], value: "local" },
  { path: ["telemetry", "otlpEndpoint"], value: endpointOf(values) },
  { path: ["telemetry", "otlpProtocol"], value: "http" },
  { path: ["telemetry", "logPrompts"], value: false, mode: "keep" },
];

export const signalPaths = (...kinds: string[]) =>
  ["LOGS", "TRACES"].flatMap((signal) => kinds.map((kind) => [`OTEL_EXPORTER_OTLP_${signal}_${kind}`]));

const TELEMETRY_VARIABLES = ["ENABLED", "TARGET", "OTLP_ENDPOINT", "OTLP_PROTOCOL", "OUTFILE"];

/** Variables with which Gemini CLI or Qwen Code overrides its telemetry settings, by their prefix. */
export const telemetryPaths = (prefix: string) => TELEMETRY_VARIABLES.map((name) => [prefix + name]);

export const telemetryOverrides =
  (prefix: string): ConnectSettings["winningVariables"] =>
  (env) =>
    ["OTEL_EXPORTER_OTLP_HEADERS", ...[...signalPaths("HEADERS"), ...telemetryPaths(prefix)].flat()].filter(
      (name) => env[name] !== undefined && !(name === `${prefix}ENABLED` && isTrue(env[name])),
    );

/** The variables of a harness that has no settings for them, and a function that passes them to it alone. */
export function byVariables(
  program: string,
  { folder = "~/.plimsoll/connect" }: ConnectionValues,
  variables: readonly HarnessSetting[],
): HarnessFile[] {
  const file = `${folder}/${program}.env`;
  return [
    { id: "variables", format: "env", usualPath: file, settings: variables },
    {
      id: "profile",
      format: "shell",
      usualPath: "~/.bashrc or ~/.zshrc",
      settings: [{ path: [program], value: shellFunction(program, file) }],
    },
  ];
}

/** A shell function that runs a program with the variables of a file. It works in bash and zsh. */
function shellFunction(program: string, file: string): string {
  const path = file.startsWith("~/") ? `"$HOME"/${quoted(file.slice(2))}` : quoted(file);
  return `${program}() { ( set -a; . ${path}; exec ${program} "$@" ); }`;
}

const quoted = (text: string) => (/^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
