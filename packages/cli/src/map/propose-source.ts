import type { UnmappedTelemetry } from "@plimsoll/protocol/api";
import { mapSourceName, pathText, type RecordMapping } from "@plimsoll/protocol/mapping";
import { CliError } from "../errors.ts";
import { proposeMapping } from "./propose.ts";

/** The sources that a mapping could read: metrics have no levels, and records of a dialect are read by it. */
export const mappable = (sources: readonly UnmappedTelemetry[]) =>
  sources.filter(({ signal, reason }) => signal !== "metrics" && reason === "unknown_dialect");

/**
 * The source of this name, or the only one whose name contains it.
 * @throws CliError if there is none, or several
 */
export function sourceOf(sources: readonly UnmappedTelemetry[], which: string): UnmappedTelemetry {
  const exact = sources.filter((source) => mapSourceName(source) === which);
  const found = exact.length > 0 ? exact : sources.filter((source) => mapSourceName(source).includes(which));
  if (found.length === 1) return found[0]!;
  const names = (found.length > 1 ? found : sources).map((source) => `  ${mapSourceName(source)}`);
  throw new CliError(
    found.length === 0 ? `No unmapped source is named ${which}.` : `${found.length} sources match ${which}.`,
    { hint: names.length === 0 ? "There are no unmapped sources." : `Name one of:\n${names.join("\n")}` },
  );
}

/** A mapping for a source; undefined if none of its attributes is named like the tokens of a prompt. */
export function proposeForSource(source: UnmappedTelemetry, name: string): RecordMapping | undefined {
  const { signal, service, scope } = source;
  return proposeMapping({
    name,
    candidates: source.attributes.map((attribute) => ({
      path: pathText(["attributes", attribute]),
      name: attribute,
    })),
    isTelemetry: true,
    match: ({ input }) => ({
      otlp: {
        ...(signal !== "metrics" && { signal }),
        ...(scope !== "" ? { scope } : service !== "" && { service }),
        ...(source.name !== "" && { name: source.name }),
        attributes: [{ name: input!.name }],
      },
    }),
  });
}

/** A name for a mapping that it may have, such as `my-agent`. */
export function mappingName(...texts: readonly string[]): string {
  for (const text of texts) {
    const name = text
      .toLowerCase()
      .replace(/[^a-z0-9._-]+/g, "-")
      .replace(/^[^a-z0-9]+|-+$/g, "")
      .slice(0, 64);
    if (name !== "") return name;
  }
  return "mapping";
}
