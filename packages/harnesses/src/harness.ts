import type { BridgePart } from "./bridge/adapter.ts";
import type { ConnectSettings } from "./connect/harness-settings.ts";
import type { FamilyLine } from "./lines/family-line.ts";
import type { Recordings } from "./recordings/reader.ts";
import type { StatusLine } from "./status-line.ts";
import type { TelemetryDialect } from "./telemetry/reading.ts";

/** Why a family lacks a part. */
export interface None {
  none: string;
}

export const none = (reason: string): None => ({ none: reason });

export const isNone = (part: object | string): part is None => typeof part === "object" && "none" in part;

/** Everything that is known about one family of harnesses. A part that is not there says why. */
export type Harness = HarnessParts & Connected;

interface HarnessParts {
  /** As its makers write it. */
  name: string;
  recordings: Recordings | None;
  /**
   * What its recordings show of a window. The cells of docs/import.md: the texts, whether thinking is one of them, and what of a
   * context that a compaction left.
   */
  contents: string | None;
  /** How it names things in OTLP. */
  telemetry: TelemetryDialect | None;
  /** What the bridge writes to move its line. */
  bridge: BridgePart | None;
  /** Where it compacts without settings of its user, and why its levels fall. */
  line: FamilyLine | None;
  /** The JSON that it passes to a command that draws its status line. */
  statusLine: StatusLine | None;
}

/**
 * A harness that `plimsoll connect` sets up has a row in docs/connect.md: its section, then the cells "writes", "window size",
 * "compactions" and "seen with".
 */
type Connected = { connect: ConnectSettings; docs: string } | { connect: None; docs?: undefined };
