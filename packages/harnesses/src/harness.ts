import type { OwnLineFamily } from "./lines.ts";
import type { Recordings } from "./recordings/reader.ts";
import type { TelemetryDialect } from "./telemetry/reading.ts";

/** Why a family lacks a part. */
export interface None {
  none: string;
}

export const none = (reason: string): None => ({ none: reason });

export const isNone = (part: object | string): part is None => typeof part === "object" && "none" in part;

/** Everything that is known about one family of harnesses. A part that is not there says why. */
export interface Harness {
  /** As its makers write it. */
  name: string;
  recordings: Recordings | None;
  /** How it names things in OTLP. */
  telemetry: TelemetryDialect | None;
  /** Where it compacts without settings of its user. The table itself is the fold's, which stands below this package. */
  ownLine: OwnLineFamily | None;
}
