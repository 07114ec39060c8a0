import { GuardError } from "../error.ts";

/** A configuration file is invalid. The message names the key, value and line of each mistake. */
export class ConfigError extends GuardError {
  readonly path: string;
  /** One entry per mistake, formatted `key: problem (line n)`. */
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
