import type { ConnectSettings } from "../connect/harness-settings.ts";
import { byVariables, endpointOf, env, headerOf } from "../connect/variables.ts";

export const clineConnect: ConnectSettings = {
  name: "Cline CLI",
  files: (values) =>
    byVariables("cline", values, [
      env("CLINE_OTEL_TELEMETRY_ENABLED", "true"),
      env("CLINE_OTEL_LOGS_EXPORTER", "otlp"),
      env("CLINE_OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
      env("CLINE_OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
      env("CLINE_OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
    ]),
  reports: "Reports each call and each summary of the task.",
  lacks: "Does not report the window size, or which sub-agent made a call.",
};
