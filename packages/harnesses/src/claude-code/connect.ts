import type { ConnectSettings } from "../connect/harness-settings.ts";
import { endpointOf, env, headerOf, hostOf, inEnv, pathsInEnv, signalPaths } from "../connect/variables.ts";

export const claudeCodeConnect: ConnectSettings = {
  name: "Claude Code",
  files: (values) => [
    {
      id: "settings",
      format: "json",
      usualPath: "~/.claude/settings.json",
      settings: inEnv([
        env("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
        env("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"),
        env("OTEL_LOGS_EXPORTER", "otlp"),
        env("OTEL_TRACES_EXPORTER", "otlp"),
        env("OTEL_METRICS_EXPORTER", "none", "keep"),
        env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        env("OTEL_EXPORTER_OTLP_ENDPOINT", endpointOf(values)),
        env("OTEL_EXPORTER_OTLP_HEADERS", headerOf(values)),
        env("OTEL_RESOURCE_ATTRIBUTES", hostOf(values), "add"),
        // At its end it waits 2 s for a server that does not answer, and some 100 ms longer than is set.
        env("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", "150", "keep"),
      ]),
      rivals: pathsInEnv(signalPaths("ENDPOINT", "HEADERS", "PROTOCOL")),
    },
  ],
  hooksSwitch: ["disableAllHooks"],
  hooks: ["PostCompact", "SessionEnd", "SessionStart"],
  // Gives the agent its own note back.
  matchers: { SessionStart: "compact" },
  recordings: "~/.claude/projects",
  mcpCommand: "claude mcp add --scope user plimsoll -- npx --yes plimsoll mcp",
  reports: "Reports each call, its cost, sub-agents, compactions and /clear.",
  lacks: "Does not report the window size, or the level right after a compaction.",
  statusLine: true,
};
