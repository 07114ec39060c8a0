import type { ConnectSettings } from "../connect/harness-settings.ts";
import {
  EXPORT_MS,
  env,
  geminiTelemetry,
  headerOf,
  signalPaths,
  telemetryOverrides,
  telemetryPaths,
} from "../connect/variables.ts";

export const geminiCliConnect: ConnectSettings = {
  name: "Gemini CLI",
  files: (values) => [
    {
      id: "settings",
      format: "json",
      usualPath: "~/.gemini/settings.json",
      settings: geminiTelemetry(values),
      rivals: [["telemetry", "outfile"]],
    },
    {
      id: "env",
      format: "env",
      usualPath: "~/.gemini/.env",
      settings: [
        env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
        // It exports once more before it ends, and would try for 10 s where no forwarder runs.
        env("OTEL_EXPORTER_OTLP_TIMEOUT", EXPORT_MS, "keep"),
      ],
      rivals: [...telemetryPaths("GEMINI_TELEMETRY_"), ...signalPaths("HEADERS")],
    },
  ],
  // Its PreCompress hook also runs before calls that compress nothing, so it proves nothing.
  winningVariables: telemetryOverrides("GEMINI_TELEMETRY_"),
  hooks: ["SessionStart", "SessionEnd"],
  forwards: true,
  mcpCommand: "gemini mcp add --scope user plimsoll npx -- --yes plimsoll mcp",
  reports: "Reports each call, sub-agents, compressions, masked tool outputs and /clear.",
  lacks: "Does not report the window size. Sends nothing useful from a folder that it does not trust.",
};
