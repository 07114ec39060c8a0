import type { RecordMapping } from "./record-mapping.ts";

/** Which records of OpenTelemetry a mapping reads, such as "traces, scope my.tracer, attribute llm.tokens". */
export function matchText({ match: { otlp } }: Pick<RecordMapping, "match">): string {
  if (otlp === undefined) return "files only";
  const { signal, service, scope, name, attributes = [] } = otlp;
  return [
    signal,
    service && `service ${service}`,
    scope && `scope ${scope}`,
    name && `name ${name}`,
    ...attributes.map(
      (attribute) =>
        `attribute ${attribute.name}${attribute.equals === undefined ? "" : ` = ${attribute.equals}`}`,
    ),
  ]
    .filter((text) => text !== undefined)
    .join(", ");
}
