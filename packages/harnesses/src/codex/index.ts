import type { Harness } from "../harness.ts";
import { codexRecordings } from "./recordings.ts";
import { codexTelemetry } from "./telemetry.ts";

export const codex = {
  name: "Codex",
  recordings: codexRecordings,
  telemetry: codexTelemetry,
  ownLine: "codex",
} satisfies Harness;
