import type { Harness } from "../harness.ts";
import { copilotRecordings } from "./recordings.ts";
import { copilotTelemetry } from "./telemetry.ts";

export const copilot = {
  name: "Copilot CLI",
  recordings: copilotRecordings,
  telemetry: copilotTelemetry,
  ownLine: "copilot",
} satisfies Harness;
