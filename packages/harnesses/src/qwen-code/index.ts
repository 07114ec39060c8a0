import type { Harness } from "../harness.ts";
import { qwenCodeRecordings } from "./recordings.ts";
import { qwenCodeTelemetry } from "./telemetry.ts";

export const qwenCode = {
  name: "Qwen Code",
  recordings: qwenCodeRecordings,
  telemetry: qwenCodeTelemetry,
  ownLine: "qwen-code",
} satisfies Harness;
