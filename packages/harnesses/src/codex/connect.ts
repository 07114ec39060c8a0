import type { ConnectSettings } from "../connect/harness-settings.ts";
import { EXPORT_MS, endpointOf, env } from "../connect/variables.ts";

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
    {
      id: "env",
      format: "env",
      usualPath: "~/.codex/.env",
      // It exports once more before it ends, and waits 5 s for a server that does not answer.
      settings: [env("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", EXPORT_MS, "keep")],
    },
  ],
  hooks: ["PostCompact", "SessionStart"],
  // Gives the agent its own note back. Seen with Codex 0.171.
  matchers: { SessionStart: "compact" },
  agentsAreSessions: true,
  recordings: "~/.codex/sessions",
  mcpCommand: "codex mcp add plimsoll -- npx --yes plimsoll mcp",
  reports: "Reports each call, sub-agents, and compactions once you trust its hook with /hooks.",
  lacks:
    "Does not report the window size. Without the hook, a compaction is an unexplained fall. The call that writes its summary counts as a turn.",
  ignoresProject: true,
};
