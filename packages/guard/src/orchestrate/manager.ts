import { GuardError } from "../error.ts";
import { estimateTokens } from "../measure/estimate.ts";
import { clip } from "../view/placeholder.ts";

/** The orchestrator was about to read what a manager must not: it has to send someone. */
export class ReadRefused extends GuardError {
  readonly path: string;
  readonly reason: "detailed_file" | "too_large" | "no_reader";

  constructor(path: string, reason: "detailed_file" | "too_large" | "no_reader", detail: string) {
    super(
      "read_refused",
      `The orchestrator manages and does not read ${path}: ${detail}. Delegate it and take back a summary.`,
    );
    this.name = "ReadRefused";
    this.path = path;
    this.reason = reason;
  }
}

export interface ManagerLimits {
  /** Largest text the orchestrator may take in at once, tokens. */
  maxReadTokens: number;
  /** Longest summary taken from a phase-runner, characters. */
  maxSummaryChars: number;
  /** Files that are detail whatever their size. */
  detailed: RegExp;
}

export const MANAGER_LIMITS: ManagerLimits = {
  maxReadTokens: 1_000,
  maxSummaryChars: 400,
  detailed:
    /(?:^|[/_-])(?:UAT|PLAN|RESEARCH|SUMMARY|VERIFICATION|CONTEXT)[^/]*\.md$|(?:^|\/)state\.json$|\.(?:[cm]?[jt]sx?|py|rs|go|java|rb|cs|cpp|c|h|sql|log|jsonl)$/i,
};

export interface ManagerOptions {
  /** How it reads what little it may. Without it nothing is read. */
  read?: (path: string) => Promise<string> | string;
  limits?: Partial<ManagerLimits>;
  /** What the orchestrator's prompt fills to begin with, tokens. */
  promptTokens?: number;
}

/** What the orchestrator holds in its context, counted. */
export class Manager {
  readonly #limits: ManagerLimits;
  readonly #read: ManagerOptions["read"];
  #tokens: number;

  constructor({ read, limits, promptTokens }: ManagerOptions = {}) {
    this.#read = read;
    this.#limits = { ...MANAGER_LIMITS, ...limits };
    this.#tokens = promptTokens ?? 0;
  }

  /** Tokens taken in so far. */
  get tokens(): number {
    return this.#tokens;
  }

  /**
   * Reads a small file that helps to route work.
   * @throws {ReadRefused} for plans, reports, state dumps and source, and for anything large.
   */
  async read(path: string): Promise<string> {
    if (this.#limits.detailed.test(path))
      throw new ReadRefused(path, "detailed_file", "it is a detailed file");
    if (this.#read === undefined)
      throw new ReadRefused(path, "no_reader", "nothing was given to read it with");
    const text = await this.#read(path);
    const tokens = Math.ceil(estimateTokens(text));
    if (tokens > this.#limits.maxReadTokens) {
      throw new ReadRefused(
        path,
        "too_large",
        `it has about ${tokens} tokens of ${this.#limits.maxReadTokens} allowed`,
      );
    }
    this.#tokens += tokens;
    return text;
  }

  /** Takes in a runner's words, cut to what a manager needs. */
  note(text: string): string {
    const { maxSummaryChars } = this.#limits;
    const line = text.replace(/\s+/g, " ").trim();
    const kept = clip(line, maxSummaryChars);
    this.#tokens += Math.ceil(estimateTokens(kept)) + 4;
    return kept;
  }
}
