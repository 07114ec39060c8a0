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
  /** What a harness writes that means the same as no value. */
  unset?: unknown;
}

/** What to write into one file. */
export interface HarnessFile {
  id: HarnessFileId;
  format: HarnessFileFormat;
  /** Where the file usually is, for a person. */
  usualPath: string;
  settings: readonly HarnessSetting[];
  /** Settings of the same file that win over these. */
  rivals?: readonly (readonly string[])[];
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

/** How a harness reports by its settings alone. */
export interface ConnectSettings {
  /** As its makers write it. */
  name: string;
  files(values: ConnectionValues): readonly HarnessFile[];
  /** Events of its hooks that tell why a level fell, which are keys under `hooks` in its settings. */
  hooks?: readonly string[];
  /** What must match for a hook to run, by its event. */
  matchers?: Readonly<Record<string, string>>;
  /**
   * Its exporter makes it slow or talk while the server is away, and no setting prevents that. So it reports to a forwarder on
   * loopback, which its hook `SessionStart` starts.
   */
  forwards?: true;
  /** A setting that switches hooks and the command of the status line off. */
  hooksSwitch?: readonly string[];
  /** Its sub-agents are sessions of their own, with the id that its hooks give them. */
  agentsAreSessions?: true;
  /** Its status line can run a command, which `connect` can write. */
  statusLine?: true;
  /** It takes no telemetry settings of a project, although it takes others. */
  ignoresProject?: true;
  /** Variables of the command's own environment that it prefers to its files. */
  winningVariables?(env: Readonly<Record<string, string | undefined>>): string[];
  /** Where recordings of past sessions are, for a person. */
  recordings?: string;
  /** Adds Plimsoll's MCP server to it, for a shell. */
  mcpCommand?: string;
  /** What it reports, and what it does not, in a sentence each. */
  reports: string;
  lacks: string;
}

export interface ConnectableHarness extends ConnectSettings {
  /** The part of an instance name before `@`. */
  family: string;
}

export type ConnectionScope = "user" | "project";
