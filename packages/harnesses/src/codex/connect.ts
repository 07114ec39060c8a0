import type { ConnectSettings } from "../connect/harness-settings.ts";
import { endpointOf } from "../connect/variables.ts";

export const codexConnect: ConnectSettings = {
  name: "Codex CLI",
  files: (values) => [
    {
      id: "settings",
      format: "toml",
      usualPath: "~/.codex/config.toml",
      settings: [
        {
          path: ["otel", "exporter"],
          value: {
            "otlp-http": {
              endpoint: `${endpointOf(values)}/v1/logs`,
              protocol: "binary",
              headers: { "x-api-key": values.key },
            },
          },
          unset: "none",
        },
      ],
    },
  ],
  hooks: ["PostCompact"],
  agentsAreSessions: true,
  recordings: "~/.codex/sessions",
  reports: "Reports each call, sub-agents, and compactions once you trust its hook with /hooks.",
  lacks: "Does not report the window size. Without the hook, a compaction is an unexplained fall.",
  ignoresProject: true,
};
