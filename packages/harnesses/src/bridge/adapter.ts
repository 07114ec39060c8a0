import type { PolicyAckEvent } from "@plimsoll/protocol/events";
import type { PolicySettings } from "@plimsoll/protocol/policy";
import type { HarnessLine, WantedLine } from "./line.ts";

/** Settings as a parser returns them. */
export type Fields = Readonly<Record<string, unknown>>;
/** `env`: lines NAME=value. `shell`: functions in the start file of a shell. */
export type SettingsFormat = "json" | "toml" | "yaml" | "env" | "shell";

/**
 * When a harness obeys a changed setting. `on_off`: it has a switch but no line. `none`: nothing can be set. No harness takes a new
 * line into a session that runs.
 */
export type Control = "next_session" | "on_off" | "none";

/** One key to set in a settings file. */
export interface SettingsChange {
  path: readonly string[];
  value: number | boolean;
}

/** Why a harness runs with another value than the policy asks for. */
export type Difference = NonNullable<PolicyAckEvent["differences"]>[number];

/**
 * Whose settings a layer has: those of a system folder, or the copy of what an administrator's server sent. Of the person or a
 * project otherwise.
 */
export type Management = "folder" | "server";

/** A settings file of a harness besides its own. */
export interface LayerFile {
  path: string;
  managed?: Management;
}

/** Other settings of the same harness, such as those of a project. */
export interface SettingsLayer {
  /** Shown as what overrides, such as a path. */
  name: string;
  settings: Fields;
  managed?: Management;
}

/** What is known of a harness besides its settings file. */
export interface Known {
  model?: string | undefined;
  /** Size of the window in tokens. */
  windowTokens?: number | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Layers that win over the settings file, strongest first. */
  layers: readonly SettingsLayer[];
  /** Layers that the settings file wins over, strongest first. Only for the bridge's own file of a managed folder. */
  weaker?: readonly SettingsLayer[];
  /** Command lines of running processes of this harness. */
  commandLines: readonly (readonly string[])[];
}

/** A line, and what decides it if the settings file does not. */
export interface DecidedLine {
  line: HarnessLine;
  by?: string;
}

/** What to write for a line; a text says why the harness cannot express it. */
export type Expression = readonly SettingsChange[] | string;

/** Where a harness keeps its files. */
export interface Places {
  home: string;
  /** The folder that the bridge was started in. */
  project: string;
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  /** Stands before the path of a system folder. */
  system?: string;
}

/** Names of the files in a folder; none if it cannot be read. */
export type FolderList = (folder: string) => readonly string[];

/** Settings of an administrator, which win over all others. */
export interface ManagedPart {
  /** A file for the bridge alone, so that it touches no file of the administrator. */
  file(places: Places): string;
  /** Strongest first. */
  files(places: Places, list: FolderList): readonly LayerFile[];
}

/** What the bridge knows of one kind of harness. Its functions are pure. */
export interface BridgePart {
  /** As its makers write it. */
  name: string;
  control: Control;
  format: SettingsFormat;
  /** Programs that show that it is installed. */
  programs: readonly string[];
  settingsFile(places: Places): string;
  /** The one that wins if both are there. */
  otherSettingsFile?(places: Places): string;
  /** The one of a project that can hold a key. Without it, `connect` writes only those of the person. */
  projectSettings?(places: Places): string;
  /** The `.env` file to write variables to. `exists` tells whether there is a file. */
  envFile?(places: Places, ofProject: boolean, exists: (path: string) => boolean): string;
  /** A `.env` file of the project that is loaded in place of the person's. */
  hidingEnvFile?(places: Places, exists: (path: string) => boolean): string | undefined;
  /** Folders of which one shows that it is installed. */
  folders(places: Places): readonly string[];
  managed?: ManagedPart;
  /** Settings files that win over `settingsFile`, strongest first, without those of an administrator. */
  layers(places: Places): readonly string[];
  /** Whether it can say through a hook that a session began. */
  hook?: true;
  /** Whether a hook puts rules back into its context after a compaction. */
  reinjects?: true;
  /** Folder in which each session creates files, which shows that a session began after a change. */
  sessions?(places: Places): string;
  /** The model that the settings name. */
  model?(settings: Fields): string | undefined;
  /** It has settings by model, which are only for a model that the person named. */
  hasModelSettings?: true;
  /** Size of the window if the harness itself has one, in tokens. */
  window?(settings: Fields, model: string | undefined): number | undefined;
  /** The keys that put the line where the policy wants it, or as near as the harness allows. */
  express(wanted: WantedLine, settings: Fields, known: Known): Expression;
  /** The key that switches compaction, if there is one. */
  switch?: { path: readonly string[]; on: boolean };
  /** Where the harness compacts with these settings. */
  line(settings: Fields, known: Known): DecidedLine;
  /** For `none` and `on_off`: what to do instead. */
  instead?: string;
}

export interface HarnessAdapter extends BridgePart {
  /** The part of an instance name before `@`. */
  family: string;
}

/** What a policy means for a harness. */
export interface BridgePlan {
  /** Every key that should hold a value of the policy. */
  changes: readonly SettingsChange[];
  /** Where the harness will compact. */
  line: HarnessLine;
  differences: readonly Difference[];
  /** Settings in force, where they are not those of the policy. */
  effective?: PolicySettings;
  control: Control;
}
