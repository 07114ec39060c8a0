import type { Harness } from "../harness.ts";
import { clineRecordings } from "./recordings.ts";
import { clineTelemetry } from "./telemetry.ts";

export const cline = {
  name: "Cline",
  recordings: clineRecordings,
  telemetry: clineTelemetry,
  ownLine: "cline",
} satisfies Harness;
