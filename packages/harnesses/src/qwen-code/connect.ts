import type { ConnectSettings } from "../connect/harness-settings.ts";
import {
  EXPORT_MS,
  env,
  geminiTelemetry,
  headerOf,
  inEnv,
  pathsInEnv,
  signalPaths,
  telemetryOverrides,
  telemetryPaths,
} from "../connect/variables.ts";

export const qwenCodeConnect: ConnectSettings = {
  name: "Qwen Code",
  files: (values) => [
    {
      id: "settings",
      format: "json",
      usualPath: "~/.qwen/settings.json",
      settings: [
        ...geminiTelemetry(values),
        { path: ["telemetry", "resourceAttributes", "host.name"], value: values.host, mode: "keep" },
        ...inEnv([
          env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
          // It exports once more before it ends, and would try for 10 s.
          env("OTEL_EXPORTER_OTLP_TIMEOUT", EXPORT_MS, "keep"),
        ]),
      ],
      rivals: [
        ...["outfile", "otlpTracesEndpoint", "otlpLogsEndpoint"].map((name) => ["telemetry", name]),
        ...pathsInEnv([...telemetryPaths("QWEN_TELEMETRY_"), ...signalPaths("ENDPOINT", "HEADERS")]),
      ],
    },
  ],
  winningVariables: telemetryOverrides("QWEN_TELEMETRY_"),
  reports: "Reports each call, the window size, what fills the window, sub-agents and compressions.",
  lacks: "Compressions of sub-agents appear under main. The parts of the window are estimates.",
};
