import { z } from "zod";

/** The fields of Phantom's `/health` answer that the status line needs. */
export const Health = z.object({
  uptime: z.number(),
  version: z.string(),
  agent: z.string(),
  role: z.object({ name: z.string() }),
  model: z.string().optional(),
  model_source: z.string().optional(),
  channels: z.record(z.string(), z.boolean()),
  memory: z.object({ qdrant: z.boolean(), ollama: z.boolean() }),
  evolution: z.object({
    generation: z.number(),
    session_count: z.number().nullish(),
    session_log_depth: z.number().nullish(),
  }),
  peers: z.record(z.string(), z.object({ healthy: z.boolean() })).optional(),
});
export type Health = z.infer<typeof Health>;

export function uptime(seconds: number): string {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m`;
  return `${Math.floor(whole / 3_600)}h ${Math.floor((whole % 3_600) / 60)}m`;
}

/** Phantom's status line, field by field as Phantom prints it. */
export function healthLine(health: Health): string {
  const { evolution, memory } = health;
  const channels = Object.entries(health.channels)
    .filter(([, connected]) => connected)
    .map(([name]) => name);
  const generation = `gen ${evolution.generation}`;
  const stores = Number(memory.qdrant) + Number(memory.ollama);
  return [
    health.agent,
    health.role.name,
    `v${health.version}`,
    typeof evolution.session_count === "number"
      ? `${generation} (${evolution.session_count} sessions, ${evolution.session_log_depth ?? 0} queued)`
      : generation,
    `model: ${health.model === undefined ? "unknown" : health.model + (health.model_source === "env" ? " (env override)" : "")}`,
    `up ${uptime(health.uptime)}`,
    `channels: ${channels.join(", ") || "none"}`,
    `memory: ${["offline", "degraded", "ok"][stores]}`,
  ].join(" | ");
}

export function peersLine(health: Health): string | undefined {
  const peers = Object.entries(health.peers ?? {});
  if (peers.length === 0) return undefined;
  return `peers: ${peers.map(([name, { healthy }]) => `${name}(${healthy ? "ok" : "down"})`).join(", ")}`;
}
