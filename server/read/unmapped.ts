import { UnmappedTelemetry, type UnmappedTelemetryList } from "@plimsoll/protocol/api";
import { MOST_MAPPINGS, matchesTelemetry, type RecordMapping, readMapping } from "@plimsoll/protocol/mapping";
import type { PrismaClient } from "../db/client.ts";
import { KEPT_UNMAPPED } from "../db/tables/unmapped-telemetry.ts";
import type { Reader } from "../lines/reader.ts";

const TOKENS = /token/i;

/** Which telemetry became no event, the most recent source first. */
export async function readUnmapped({ prisma, projectId }: Reader): Promise<UnmappedTelemetryList> {
  const [rows, stored] = await Promise.all([
    prisma.unmappedTelemetry.findMany({
      where: { projectId },
      orderBy: [{ lastAt: "desc" }, { signal: "asc" }, { service: "asc" }, { scope: "asc" }, { name: "asc" }],
      take: KEPT_UNMAPPED,
    }),
    storedMappings(prisma, projectId),
  ]);
  const mappings = stored.flatMap(({ body }) => {
    const read = readMapping(body);
    return read.ok ? [read.mapping] : [];
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
      mapped_by:
        (reason === "unknown_dialect" &&
          mappings.find((mapping) => reads(mapping, { signal, service, scope, name, attributes }))?.name) ||
        null,
      counts_tokens: attributes.some((attribute) => TOKENS.test(attribute)),
      count: Number(count),
      first_at: times.firstAt.toISOString(),
      last_at: times.lastAt.toISOString(),
    })),
  };
}

type Source = Record<"signal" | "service" | "scope" | "name", string> & { attributes: readonly string[] };

/** Whether a mapping reads records of a source. Names of spans and values of attributes are not stored, so they count as met. */
function reads({ match, ...mapping }: RecordMapping, { attributes, ...source }: Source): boolean {
  const { otlp } = match;
  if (otlp === undefined) return false;
  const { name, attributes: conditions, ...named } = otlp;
  const known = {
    ...named,
    ...(source.signal !== "traces" && { name }),
    attributes: conditions?.map((condition) => ({ name: condition.name })),
  };
  const names = new Set(attributes);
  return matchesTelemetry(
    { ...mapping, match: { otlp: known } },
    { ...source, attribute: (attribute) => (names.has(attribute) ? true : undefined) },
  );
}

/** The rows of a project's mappings, by name. */
export const storedMappings = (prisma: Pick<PrismaClient, "recordMapping">, projectId: number) =>
  prisma.recordMapping.findMany({ where: { projectId }, orderBy: { name: "asc" }, take: MOST_MAPPINGS });
