import type { UnmappedTelemetry } from "../api/unmapped-telemetry.ts";

type Source = Pick<UnmappedTelemetry, "signal" | "service" | "scope" | "name">;

/** How `plimsoll map` names a source, such as `traces/my-agent/my.tracer` or `logs/my-agent//api_call`. */
export function mapSourceName({ signal, service, scope, name }: Source): string {
  return [signal, service, scope, name].join("/").replace(/\/+$/, "");
}

/**
 * The command that proposes a mapping for a source, for bash and similar shells. Senders choose the names, so a source whose name
 * a shell could read in another way gets the command that lists all of them.
 */
export function mapCommand(source: Source): string {
  const name = mapSourceName(source);
  return /^[\w./@:+,%=-]+$/.test(name) ? `npx plimsoll map propose ${name}` : "npx plimsoll map";
}
