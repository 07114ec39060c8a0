import { asObject, candidateRecords, fileStem, fitName, parseJson } from "@plimsoll/harnesses/recordings";
import { compileMapping, type MappedEvent, mappedTurn, type RecordMapping } from "@plimsoll/protocol/mapping";
import { sourceLines } from "../import/source.ts";
import { type FieldCandidate, fieldsOf, proposeMapping } from "./propose.ts";

/** Most records of a file that are read. */
const MOST_RECORDS = 2_000;

/** The first records of a file: its lines, or the items of lists in a JSON document. */
export async function readRecords(path: string): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const { lines } of sourceLines(path)) {
    for (const line of lines) {
      const json = parseJson(line);
      const items = candidateRecords(json);
      for (const record of items.some((item) => asObject(item)) ? items : [json]) {
        if (asObject(record) !== undefined) records.push(record);
        if (records.length >= MOST_RECORDS) return records;
      }
    }
  }
  return records;
}

/** Names that programs give to the kind of a record. */
const KIND = /^(type|kind|event|event_?type|name)$/i;

/** A mapping for the records that count tokens; undefined if none has a field that is named so. */
export function proposeForRecords(name: string, records: readonly unknown[]): RecordMapping | undefined {
  const propose = (from: readonly unknown[]) =>
    proposeMapping({
      name,
      candidates: fieldsOf(from),
      isTelemetry: false,
      match: (fields) => ({ file: conditionsOf(fields.input!, Object.values(fields), fieldsOf(from)) }),
    });
  const first = propose(records);
  if (first === undefined) return undefined;
  // Fields of other records say nothing of a call.
  const calls = records.filter((record) => fieldsOf([record]).some(({ path }) => path === first.usage.input));
  return propose(calls);
}

/** Two fields at least: the count, the kind of the record if it has one, else another field of the mapping or of the record. */
function conditionsOf(
  input: FieldCandidate,
  known: readonly FieldCandidate[],
  all: readonly FieldCandidate[],
): { path: string; equals?: string }[] {
  const kind = all.find(({ name, sample }) => KIND.test(name) && typeof sample === "string");
  if (kind !== undefined) return [{ path: input.path }, { path: kind.path, equals: String(kind.sample) }];
  const other = [...known, ...all].find(({ path }) => path !== input.path);
  return [{ path: input.path }, ...(other === undefined ? [] : [{ path: other.path }])];
}

/** What a mapping makes of records. */
export interface Preview {
  records: number;
  turns: number;
  first: ReturnType<typeof turnRow>[];
  /** Why other records that it matches are no turns, such as `usage.input: $.n is a text`, with their number. */
  problems: { problem: string; records: number }[];
}

const MOST_ROWS = 5;

export function previewOf(mapping: RecordMapping, records: readonly unknown[], path: string): Preview {
  const compiled = compileMapping(mapping);
  const preview: Preview = { records: records.length, turns: 0, first: [], problems: [] };
  const problems = new Map<string, number>();
  const ids = new Set<string>();
  const count = (problem: string) => problems.set(problem, (problems.get(problem) ?? 0) + 1);
  for (const record of records) {
    const place = { harness: mapping.name, session: fileStem(path), fit: fitName };
    const turn = mappedTurn(compiled, record, place);
    if (turn.event === undefined) {
      const { reason, unfilled } = turn;
      count(unfilled === undefined ? reason : `${unfilled.field}: ${unfilled.path} is ${unfilled.found}`);
      continue;
    }
    for (const { field, path, found } of turn.ignored)
      count(`${field}: ${path} is ${found}, so it stays unknown`);
    const { session, agent, id } = turn.event;
    const key = JSON.stringify([session, agent, id]);
    if (ids.has(key)) {
      count("id: that of another record, so both are one turn");
      continue;
    }
    ids.add(key);
    preview.turns += 1;
    if (preview.first.length < MOST_ROWS) preview.first.push(turnRow(turn.event));
  }
  preview.problems = [...problems].map(([problem, records]) => ({ problem, records }));
  return preview;
}

function turnRow({ session, agent, at, model, usage, context_window }: MappedEvent) {
  return {
    session,
    agent: agent ?? "main",
    at: new Date(at).toISOString(),
    model,
    input: usage.input_tokens ?? null,
    cache_read: usage.cache_read_tokens ?? null,
    cache_write: usage.cache_write_tokens ?? null,
    output: usage.output_tokens ?? null,
    window: context_window ?? null,
  };
}
