import type { ConnectSettings } from "../connect/harness-settings.ts";
import { byVariables, endpointOf, env, headerOf, hostOf } from "../connect/variables.ts";

export const opencodeConnect: ConnectSettings = {
  name: "opencode",
  files: (values) => [
    {
      id: "settings",
      format: "json",
      usualPath: "~/.config/opencode/opencode.json",
      settings: [{ path: ["experimental", "openTelemetry"], value: true }],
    },
    ...byVariables("opencode", values, [
      env("OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
      env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
      env("OTEL_RESOURCE_ATTRIBUTES", hostOf(values)),
      // `opencode run` ends without a last export, so a delay of 5 s would lose the calls of that time.
      env("OTEL_BSP_SCHEDULE_DELAY", "50"),
    ]),
  ],
  mcpCommand:
    "mkdir -p ~/.config/opencode/plugin && npx --yes plimsoll mcp --plugin opencode > ~/.config/opencode/plugin/plimsoll.js",
  reports: "Reports each call and sub-agents.",
  lacks: "Does not report the window size or compactions.",
};
