import type { ConnectSettings } from "../connect/harness-settings.ts";
import { byVariables, EXPORT_MS, endpointOf, env, headerOf } from "../connect/variables.ts";

export const copilotConnect: ConnectSettings = {
  name: "Copilot CLI",
  files: (values) =>
    byVariables("copilot", values, [
      env("OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
      env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
      // It leaves the host's name out.
      env("OTEL_RESOURCE_ATTRIBUTES", `plimsoll.harness=copilot${encodeURIComponent(`@${values.host}`)}`),
      // It exports once more before it ends, and would try for a second.
      env("OTEL_EXPORTER_OTLP_TIMEOUT", EXPORT_MS, "keep"),
    ]),
  reports: "Reports each call of the main agent, truncations and compactions with their levels.",
  lacks: "Does not report the window size or sub-agents. Its recordings do.",
};
