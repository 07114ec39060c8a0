import { type Harness, none } from "../harness.ts";
import { piRecordings } from "./recordings.ts";

export const pi = {
  name: "pi",
  recordings: piRecordings,
  telemetry: none("No telemetry of its own is known."),
  ownLine: "pi",
} satisfies Harness;
