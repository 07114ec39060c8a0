/** A scalar from a configuration file, with its line number. */
export interface Scalar {
  value: string | number | boolean | null;
  line: number;
}

/** Reads settings from a block and collects the mistakes in it. */
export class SettingsReader {
  readonly problems: string[] = [];
  readonly #fields: ReadonlyMap<string, Scalar>;
  readonly #prefix: string;
  readonly #read = new Set<string>();

  constructor(prefix: string, fields: ReadonlyMap<string, Scalar>) {
    this.#prefix = prefix;
    this.#fields = fields;
  }

  /** Returns `undefined` if the setting is absent or invalid, and `null` if the file says null. */
  number(key: string, check: (value: number) => string | undefined): number | null | undefined {
    this.#read.add(key);
    const field = this.#fields.get(key);
    if (field === undefined) return undefined;
    if (field.value === null) return null;
    if (typeof field.value !== "number") {
      this.#wrong(key, `must be a number, not ${JSON.stringify(field.value)}`, field.line);
      return undefined;
    }
    const problem = check(field.value);
    if (problem === undefined) return field.value;
    this.#wrong(key, `${problem}, not ${field.value}`, field.line);
    return undefined;
  }

  boolean(key: string): boolean | undefined {
    this.#read.add(key);
    const field = this.#fields.get(key);
    if (field === undefined) return undefined;
    if (typeof field.value === "boolean") return field.value;
    this.#wrong(key, `must be true or false, not ${JSON.stringify(field.value)}`, field.line);
    return undefined;
  }

  problem(key: string, text: string): void {
    this.#wrong(key, text, this.#fields.get(key)?.line ?? 0);
  }

  /** Reports unknown keys. They are usually misspelled and would otherwise have no effect. */
  unknown(): void {
    for (const [key, { line }] of this.#fields) {
      if (!this.#read.has(key))
        this.#wrong(key, `is not a setting; the settings are ${[...this.#read].join(", ")}`, line);
    }
  }

  #wrong(key: string, text: string, line: number): void {
    this.problems.push(`${this.#prefix}${key}: ${text} (line ${line})`);
  }
}
