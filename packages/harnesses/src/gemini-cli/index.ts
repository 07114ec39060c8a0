import type { Harness } from "../harness.ts";
import { geminiCliRecordings } from "./recordings.ts";
import { geminiCliTelemetry } from "./telemetry.ts";

export const geminiCli = {
  name: "Gemini CLI",
  recordings: geminiCliRecordings,
  telemetry: geminiCliTelemetry,
  ownLine: "gemini-cli",
} satisfies Harness;
