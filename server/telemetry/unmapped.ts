import { UnmappedTelemetry, type UnmappedTelemetryList } from "@plimsoll/protocol";
import { KEPT_UNMAPPED } from "../store/unmapped-telemetry.ts";
import type { Reader } from "./reader.ts";

const TOKENS = /token/i;

/** Which telemetry became no event, the most recent source first. */
export async function readUnmapped({ prisma, projectId }: Reader): Promise<UnmappedTelemetryList> {
  const rows = await prisma.unmappedTelemetry.findMany({
    where: { projectId },
    orderBy: [{ lastAt: "desc" }, { signal: "asc" }, { service: "asc" }, { scope: "asc" }, { name: "asc" }],
    take: KEPT_UNMAPPED,
  });
  const { signal: Signal, reason: Reason } = UnmappedTelemetry.shape;
  return {
    sources: rows.map(({ signal, service, scope, name, reason, dialect, attributes, count, ...times }) => ({
      signal: Signal.parse(signal),
      service,
      scope,
      name,
      reason: Reason.parse(reason),
      dialect: dialect || null,
      attributes,
      counts_tokens: attributes.some((attribute) => TOKENS.test(attribute)),
      count: Number(count),
      first_at: times.firstAt.toISOString(),
      last_at: times.lastAt.toISOString(),
    })),
  };
}
