/** A file that a harness takes settings from. */
export type HarnessFileId =
  /** Its own settings. */
  | "settings"
  /** A `.env` file that it loads. */
  | "env"
  /** Variables that the function in `profile` passes to it. */
  | "variables"
  /** The start file of the shell. */
  | "profile";

/** `env` holds lines `NAME=value`; `shell` holds functions between marks. */
export type HarnessFileFormat = "json" | "toml" | "env" | "shell";

/** A key of a settings file and its value. */
export interface HarnessSetting {
  path: readonly string[];
  value: unknown;
  /**
   * `keep`: a value that is there stays. `add`: a comma-separated list, to which what is missing is added. `wrap`: the value
   * contains what is there.
   */
  mode?: "keep" | "add" | "wrap";
}

/** What to write into one file. */
export interface HarnessFile {
  id: HarnessFileId;
  format: HarnessFileFormat;
  /** Where the file usually is, for a person. */
  usualPath: string;
  settings: readonly HarnessSetting[];
}

export interface ConnectionValues {
  /** Base URL of the server without a trailing slash. */
  url: string;
  /** An ingest key. */
  key: string;
  /** Name of this machine, which becomes part of the harness instance. */
  host: string;
  /** Where files with variables are. */
  folder?: string;
}

/** A harness that reports by its settings alone. */
export interface ConnectableHarness {
  /** The part of an instance name before `@`. */
  family: string;
  /** As its makers write it. */
  name: string;
  /** Which settings it can take: those of the person, or also those of one project. */
  scopes: readonly ConnectionScope[];
  files(values: ConnectionValues): readonly HarnessFile[];
  /** Events of its hooks that tell why a level fell, which are keys under `hooks` in its settings. */
  hooks?: readonly string[];
  /** What it reports, and what it does not, in a sentence each. */
  reports: string;
  lacks: string;
}

export type ConnectionScope = "user" | "project";

const endpointOf = ({ url }: ConnectionValues) => `${url}/otlp`;
/** Exporters read headers as a list of name=value, and some send an encoded space as it is. */
const headerOf = ({ key }: ConnectionValues) => `x-api-key=${key}`;
const hostOf = ({ host }: ConnectionValues) => `host.name=${encodeURIComponent(host)}`;

const env = (name: string, value: string, mode?: HarnessSetting["mode"]): HarnessSetting => ({
  path: [name],
  value,
  ...(mode !== undefined && { mode }),
});

const inEnv = (settings: readonly HarnessSetting[]) =>
  settings.map((setting) => ({ ...setting, path: ["env", ...setting.path] }));

/** Telemetry settings that Gemini CLI and its fork Qwen Code share. */
const geminiTelemetry = (values: ConnectionValues): HarnessSetting[] => [
  { path: ["telemetry", "enabled"], value: true },
  { path: ["telemetry", "target"], value: "local" },
  { path: ["telemetry", "otlpEndpoint"], value: endpointOf(values) },
  { path: ["telemetry", "otlpProtocol"], value: "http" },
  { path: ["telemetry", "logPrompts"], value: false, mode: "keep" },
];

/** The variables of a harness that has no settings for them, and a function that passes them to it alone. */
function byVariables(
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

/** Every harness that `plimsoll connect` can set up. */
export const CONNECTABLE_HARNESSES: readonly ConnectableHarness[] = [
  {
    family: "claude-code",
    name: "Claude Code",
    scopes: ["user", "project"],
    files: (values) => [
      {
        id: "settings",
        format: "json",
        usualPath: "~/.claude/settings.json",
        settings: inEnv([
          env("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
          env("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"),
          env("OTEL_LOGS_EXPORTER", "otlp"),
          env("OTEL_TRACES_EXPORTER", "otlp"),
          env("OTEL_METRICS_EXPORTER", "none", "keep"),
          env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
          env("OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
          env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
          env("OTEL_RESOURCE_ATTRIBUTES", hostOf(values), "add"),
        ]),
      },
    ],
    hooks: ["PostCompact", "SessionEnd"],
    reports: "Reports each call, its cost, sub-agents, compactions and /clear.",
    lacks: "Does not report the window size, or the level right after a compaction.",
  },
  {
    family: "codex",
    name: "Codex CLI",
    scopes: ["user"],
    files: (values) => [
      {
        id: "settings",
        format: "toml",
        usualPath: "~/.codex/config.toml",
        settings: [
          {
            path: ["otel", "exporter"],
            value: {
              "otlp-http": {
                endpoint: `${endpointOf(values)}/v1/logs`,
                protocol: "binary",
                headers: { "x-api-key": values.key },
              },
            },
          },
        ],
      },
    ],
    hooks: ["PostCompact"],
    reports: "Reports each call, sub-agents, and compactions once you trust its hook with /hooks.",
    lacks: "Does not report the window size. Without the hook, a compaction is an unexplained fall.",
  },
  {
    family: "gemini-cli",
    name: "Gemini CLI",
    scopes: ["user", "project"],
    files: (values) => [
      {
        id: "settings",
        format: "json",
        usualPath: "~/.gemini/settings.json",
        settings: geminiTelemetry(values),
      },
      {
        id: "env",
        format: "env",
        usualPath: "~/.gemini/.env",
        settings: [env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values))],
      },
    ],
    // Its PreCompress hook also runs before calls that compress nothing, so it proves nothing.
    hooks: ["SessionEnd"],
    reports: "Reports each call, sub-agents, compressions, masked tool outputs and /clear.",
    lacks: "Does not report the window size. Sends nothing useful from a folder that it does not trust.",
  },
  {
    family: "qwen-code",
    name: "Qwen Code",
    scopes: ["user"],
    files: (values) => [
      {
        id: "settings",
        format: "json",
        usualPath: "~/.qwen/settings.json",
        settings: [
          ...geminiTelemetry(values),
          { path: ["telemetry", "resourceAttributes", "host.name"], value: values.host, mode: "keep" },
          ...inEnv([env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values))]),
        ],
      },
    ],
    reports: "Reports each call, the window size, what fills the window, sub-agents and compressions.",
    lacks: "Compressions of sub-agents appear under main. The parts of the window are estimates.",
  },
  {
    family: "opencode",
    name: "opencode",
    scopes: ["user"],
    files: (values) => [
      {
        id: "settings",
        format: "json",
        usualPath: "~/.config/opencode/opencode.json",
        settings: [{ path: ["experimental", "openTelemetry"], value: true }],
      },
      ...byVariables("opencode", values, [
        env("OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
        env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
        env("OTEL_RESOURCE_ATTRIBUTES", hostOf(values)),
        // `opencode run` ends without a last export, so a delay of 5 s would lose the calls of that time.
        env("OTEL_BSP_SCHEDULE_DELAY", "50"),
      ]),
    ],
    reports: "Reports each call and sub-agents.",
    lacks: "Does not report the window size or compactions.",
  },
  {
    family: "copilot",
    name: "Copilot CLI",
    scopes: ["user"],
    files: (values) =>
      byVariables("copilot", values, [
        env("OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
        env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
        // It leaves the host's name out.
        env("OTEL_RESOURCE_ATTRIBUTES", `plimsoll.harness=copilot${encodeURIComponent(`@${values.host}`)}`),
      ]),
    reports: "Reports each call of the main agent, truncations and compactions with their levels.",
    lacks: "Does not report the window size or sub-agents. Its recordings do.",
  },
  {
    family: "cline",
    name: "Cline CLI",
    scopes: ["user"],
    files: (values) =>
      byVariables("cline", values, [
        env("CLINE_OTEL_TELEMETRY_ENABLED", "true"),
        env("CLINE_OTEL_LOGS_EXPORTER", "otlp"),
        env("CLINE_OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        env("CLINE_OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
        env("CLINE_OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
      ]),
    reports: "Reports each call and each summary of the task.",
    lacks: "Does not report the window size, or which sub-agent made a call.",
  },
];
