/** Longest example that is kept, in characters. */
const LONGEST_EXAMPLE = 1_500;
/** Fields whose text is shown, because it names no person and holds no content. */
const SHOWN: ReadonlySet<string> = new Set([
  "type",
  "harness",
  "model",
  "basis",
  "trigger",
  "status",
  "kind",
]);
const LONGEST_SHOWN = 60;
const DEPTH = 4;
const MOST_ITEMS = 3;
const MOST_FIELDS = 24;
const LONGEST_FIELD_NAME = 40;
/** Maps may have questions or paths as names. */
const FIELD_NAME = /^[\w.$-]+$/;

/** A number as text, or a time: what a sender often gives in the wrong form. */
const PLAIN = /^[-+]?[\d.,:TZ\s-]{1,32}$/i;

/** An event without what people or models wrote: each text is replaced by its length. The result is JSON, cut if long. */
export function redactEvent(value: unknown): string {
  const text = JSON.stringify(redact(value, undefined, DEPTH), undefined, 1) ?? "nothing";
  return text.length <= LONGEST_EXAMPLE ? text : `${text.slice(0, LONGEST_EXAMPLE)}…`;
}

function redact(value: unknown, field: string | undefined, depth: number): unknown {
  if (typeof value === "string") {
    const shown = (field !== undefined && SHOWN.has(field)) || PLAIN.test(value);
    return shown && value.length <= LONGEST_SHOWN ? value : `(text of ${value.length} characters)`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    if (depth === 0) return `(list of ${value.length})`;
    const items = value.slice(0, MOST_ITEMS).map((item) => redact(item, undefined, depth - 1));
    return value.length > MOST_ITEMS ? [...items, `(${value.length - MOST_ITEMS} more)`] : items;
  }
  const fields = Object.entries(value);
  if (depth === 0) return `(object of ${fields.length} fields)`;
  return Object.fromEntries(
    fields.slice(0, MOST_FIELDS).map(([name, inner]) => [shownName(name), redact(inner, name, depth - 1)]),
  );
}

const shownName = (name: string) =>
  FIELD_NAME.test(name) ? name.slice(0, LONGEST_FIELD_NAME) : `(name of ${name.length} characters)`;
