import { isUtf8 } from "node:buffer";
import { BODY_LIMITS, type BodyBudget, overLimit, tooManyValues } from "../../../bodies/body-budget.ts";
import { type JsonRange, scanJson } from "../../../bodies/scan-json.ts";
import { PlimsollError } from "../../../errors.ts";
import { MOST_GROUPS, MOST_RECORDS, tooManyGroups, tooManyRecords } from "./record-limit.ts";

/** Largest body without its resources, and largest resource without its records, in bytes. */
const MOST_REST = 4 * 1024 * 1024;

/** Depths inside the lists of {"resourceSpans": [{"scopeSpans": [{"spans": [ … */
const RESOURCES = 2;
const SCOPES = 4;
const RECORDS = 6;
/** A bit for each of these depths. */
const LISTS = (1 << RESOURCES) | (1 << SCOPES) | (1 << RECORDS);
const upTo = (depth: number): number => (2 << depth) - 1;

/** A record, and its number of values. */
export interface JsonRecord extends JsonRange {
  values: number;
}

/** A text of which parts are replaced by numbers. */
export interface JsonRest {
  parts: readonly Buffer[];
  values: number;
}

/** What one resource sent: each list of records is replaced by its index in `lists`. */
export interface JsonResource extends JsonRest {
  lists: readonly (readonly JsonRecord[])[];
}

/** A body in which each resource is replaced by its index in `resources`. */
export interface SplitBody extends JsonRest {
  resources: readonly JsonResource[];
}

/**
 * Finds the resources and their records in a body of OTLP/JSON without parsing it as a whole, which could stop the process
 * for seconds. Yields where the work may pause.
 * @throws PlimsollError `bad_request` for a body that is cut, `too_large` for too many resources, scopes or records, and what
 * `scanJson` throws
 */
export function* splitOtlpJson(bytes: Buffer, budget: BodyBudget): Generator<undefined, SplitBody> {
  // Decoding would put the same character for every byte it cannot read, and names that differ would become one.
  if (!isUtf8(bytes)) throw new PlimsollError("bad_request", "The body is not valid UTF-8.");
  const body = new RestOfText(bytes, 0, 0);
  const resources: JsonResource[] = [];
  let groups = 0;
  let records = 0;
  /** A bit for each depth that is a list. */
  let shape = 0;
  /** The resource that is being read, and the list of records. */
  let resource: RestOfText | undefined;
  let lists: JsonRecord[][] = [];
  let list: JsonRecord[] | undefined;
  let listFrom: JsonRecord = { from: 0, to: 0, values: 0 };
  let recordFrom = listFrom;

  const countGroup = () => {
    groups += 1;
    if (groups > MOST_GROUPS) throw tooManyGroups();
  };
  const endResource = (end: number, values: number) => {
    const { from } = resource!;
    if (end <= from) return;
    const rest = resource!.end(end, values);
    body.replace(from, end, values - resource!.valuesBefore, resources.length);
    resources.push({ ...rest, lists });
    lists = [];
    countGroup();
  };
  const endRecord = (end: number, values: number) => {
    const { from } = recordFrom;
    if (end <= from) return;
    list!.push({ from, to: end, values: values - recordFrom.values });
    records += 1;
    if (records > MOST_RECORDS) throw tooManyRecords();
  };

  const whole = yield* scanJson(bytes, budget, {
    depth: RECORDS,
    open({ at, depth, values }, isList) {
      shape = (shape & upTo(depth - 1)) | (isList ? 1 << depth : 0);
      if (shape !== (LISTS & upTo(depth))) return;
      if (depth === RESOURCES) resource = new RestOfText(bytes, at + 1, values);
      else if (depth === SCOPES + 1) countGroup();
      else if (depth === RECORDS) {
        list = [];
        listFrom = { from: at + 1, to: 0, values };
        recordFrom = listFrom;
      }
    },
    comma({ at, depth, end, values }) {
      if (depth === RECORDS && list !== undefined) {
        endRecord(end, values);
        recordFrom = { from: at + 1, to: 0, values };
      } else if (depth === RESOURCES && resource !== undefined) {
        endResource(end, values);
        resource = new RestOfText(bytes, at + 1, values);
      }
    },
    close({ at, depth, end, values }) {
      if (depth === RECORDS && list !== undefined) {
        endRecord(end, values);
        resource!.replace(listFrom.from, at, values - listFrom.values, lists.length);
        lists.push(list);
        list = undefined;
      } else if (depth === RESOURCES && resource !== undefined) {
        endResource(end, values);
        resource = undefined;
      }
    },
  });
  if (resource !== undefined) throw notOtlp();
  return { ...body.end(whole.end, whole.values), resources };
}

/** Collects what is left of a text when parts of it are replaced. */
class RestOfText {
  readonly from: number;
  readonly valuesBefore: number;
  readonly #bytes: Buffer;
  readonly #parts: Buffer[] = [];
  #keptFrom: number;
  #replaced = 0;

  constructor(bytes: Buffer, from: number, valuesBefore: number) {
    this.#bytes = bytes;
    this.from = from;
    this.#keptFrom = from;
    this.valuesBefore = valuesBefore;
  }

  replace(from: number, to: number, values: number, index: number): void {
    this.#parts.push(this.#bytes.subarray(this.#keptFrom, from), Buffer.from(String(index)));
    this.#keptFrom = to;
    this.#replaced += values;
  }

  end(to: number, values: number): JsonRest {
    this.#parts.push(this.#bytes.subarray(this.#keptFrom, to));
    return { parts: this.#parts, values: values - this.valuesBefore - this.#replaced };
  }
}

/**
 * Parses what is left of a body or a resource.
 * @throws PlimsollError `bad_request` if it is not JSON, `too_large`
 */
export function parseRest({ parts, values }: JsonRest): unknown {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  if (size > MOST_REST)
    throw overLimit(
      `The body has ${size} bytes besides its records; the limit is ${MOST_REST}.`,
      MOST_REST,
      "bytes",
    );
  const tooMany = tooManyValues(values);
  if (tooMany !== undefined)
    throw overLimit(`A resource ${tooMany}, besides its records.`, BODY_LIMITS.valuesOfOne, "values");
  try {
    return JSON.parse(Buffer.concat(parts, size).toString("utf8"));
  } catch (cause) {
    throw notOtlp(cause);
  }
}

export const notOtlp = (cause?: unknown): PlimsollError =>
  new PlimsollError("bad_request", "The body is not an OTLP export request in JSON.", { cause });
