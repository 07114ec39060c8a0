import { GuardError } from "../error.ts";

/** A configuration file says something that cannot be used. The message names the key, the value and the line. */
export class ConfigError extends GuardError {
  readonly path: string;
  /** Lines at fault, each `key: what is wrong (line n)`. */
  readonly problems: readonly string[];

  constructor(path: string, problems: readonly string[]) {
    super(
      "invalid_config",
      `Invalid config at ${path}:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`,
    );
    this.name = "ConfigError";
    this.path = path;
    this.problems = problems;
  }
}

/** A scalar read from a file, and where it stood. */
export interface Scalar {
  value: string | number | boolean | null;
  line: number;
}

/** Reads numbers out of a block and collects what is wrong with it. */
export class Fields {
  readonly problems: string[] = [];
  readonly #fields: ReadonlyMap<string, Scalar>;
  readonly #prefix: string;
  readonly #read = new Set<string>();

  constructor(prefix: string, fields: ReadonlyMap<string, Scalar>) {
    this.#prefix = prefix;
    this.#fields = fields;
  }

  /** Undefined when absent or wrong; null when the file says null. */
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

  /** Names that mean nothing: most often a slip of the pen, which would otherwise pass without effect. */
  unknown(): void {
    for (const [key, { line }] of this.#fields) {
      if (!this.#read.has(key))
        this.#wrong(key, `is not a setting; known are ${[...this.#read].join(", ")}`, line);
    }
  }

  #wrong(key: string, text: string, line: number): void {
    this.problems.push(`${this.#prefix}${key}: ${text} (line ${line})`);
  }
}
