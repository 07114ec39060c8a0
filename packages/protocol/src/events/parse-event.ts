import type { z } from "zod";
import { safeParse } from "../safe-parse.ts";
import { type EventType, PlimsollEvent, type RejectionCode } from "./events.ts";
import { readPlainTurn } from "./plain-turn.ts";

const EVENT_SCHEMAS = new Map<string, z.ZodType<PlimsollEvent>>(
  PlimsollEvent.options.map((schema) => [schema.shape.type.value, schema as z.ZodType<PlimsollEvent>]),
);
export const EVENT_TYPES = [...EVENT_SCHEMAS.keys()] as EventType[];

export interface Rejection {
  code: RejectionCode;
  /** Dotted path of the field at fault, such as `usage.input_tokens`. */
  path: string;
  message: string;
}

export type ParsedEvent = { ok: true; event: PlimsollEvent } | { ok: false; rejection: Rejection };

/** Checks one event by itself. Unknown fields are dropped, an unknown type is refused. */
export function parseEvent(value: unknown): ParsedEvent {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refused("not_an_object", "", "an event must be a JSON object");
  }
  const type = (value as { type?: unknown }).type;
  if (type === undefined || type === null) {
    return refused("missing_field", "type", `is required: one of ${EVENT_TYPES.join(", ")}`);
  }
  const schema = typeof type === "string" ? EVENT_SCHEMAS.get(type) : undefined;
  if (schema === undefined) {
    const said = typeof type === "string" ? JSON.stringify(type.slice(0, 64)) : `a ${typeof type}`;
    return refused("unknown_type", "type", `${said} is not one of ${EVENT_TYPES.join(", ")}`);
  }
  const plain = type === "turn" ? readPlainTurn(value) : undefined;
  if (plain !== undefined) return { ok: true, event: plain };
  let parsed = safeParse(schema, value);
  if (parsed.success) return { ok: true, event: parsed.data };
  const present = withoutNulls(value);
  parsed = safeParse(schema, present);
  if (parsed.success) return { ok: true, event: parsed.data };
  const issue = parsed.error.issues[0]!;
  const path = issue.path.map(String).join(".");
  const missing = issue.path.length > 0 && valueAt(present, issue.path) === undefined;
  return missing
    ? refused("missing_field", path, "is required")
    : refused("invalid_field", path, issue.message);
}

/** Levels of an event at which a field can stand: `sub_phases`, its items, and theirs. What is deeper is not kept. */
const DEPTH = 4;

/** Many serialisers write `null` for a field that is not there. An item of a list is no field. */
function withoutNulls(value: unknown, depth = DEPTH): unknown {
  if (typeof value !== "object" || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth - 1));
  const present = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(present.map(([name, inner]) => [name, withoutNulls(inner, depth - 1)]));
}

function refused(code: RejectionCode, path: string, message: string): ParsedEvent {
  return { ok: false, rejection: { code, path, message } };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let here = value;
  for (const key of path) {
    if (typeof here !== "object" || here === null) return undefined;
    here = (here as Record<PropertyKey, unknown>)[key];
  }
  return here;
}
