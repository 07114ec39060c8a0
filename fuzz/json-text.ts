/** JSON text that no value stands for, such as `1e999` or `-0`. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object whose names may repeat. */
export class Members {
  readonly entries: [name: string, value: unknown][];

  constructor(entries: [string, unknown][]) {
    this.entries = entries;
  }
}

/** JSON.stringify that also writes `Raw` and `Members`, and keeps the name `__proto__`. */
export function jsonText(value: unknown): string {
  if (value instanceof Raw) return value.text;
  if (value instanceof Members) return objectText(value.entries);
  if (Array.isArray(value)) return `[${value.map((item) => jsonText(item ?? null)).join(",")}]`;
  if (typeof value === "object" && value !== null) return objectText(Object.entries(value));
  return JSON.stringify(value) ?? "null";
}

function objectText(entries: readonly [string, unknown][]): string {
  const present = entries.filter(([, value]) => value !== undefined);
  return `{${present.map(([name, value]) => `${JSON.stringify(name)}:${jsonText(value)}`).join(",")}}`;
}
