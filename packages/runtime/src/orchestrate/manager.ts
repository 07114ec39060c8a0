import { GuardError } from "@plimsoll/guard";
import { estimateTokens } from "@plimsoll/guard/measure";
import { clip } from "@plimsoll/guard/view";

/** The orchestrator tried to read a file that it must delegate instead. */
export class ReadRefused extends GuardError {
  readonly path: string;
  readonly reason: "detailed_file" | "too_large" | "no_reader";

  constructor(path: string, reason: "detailed_file" | "too_large" | "no_reader", detail: string) {
    super(
      "read_refused",
      `The orchestrator must not read ${path}: ${detail}. Delegate it to a phase-runner and read its summary.`,
    );
    this.name = "ReadRefused";
    this.path = path;
    this.reason = reason;
  }
}

/** Limits of a {@link Manager}. */
export interface ManagerLimits {
  /** Maximum size of one file to read, in tokens. */
  maxReadTokens: number;
  /** Maximum length of a runner's summary, in characters. */
  maxSummaryChars: number;
  /** Matches the paths that may be read: those with names, scores, status and routing. */
  readable: RegExp;
}

/** Default limits. */
export const MANAGER_LIMITS: ManagerLimits = {
  maxReadTokens: 1_000,
  maxSummaryChars: 400,
  readable:
    /^(?:(?!\.\.\/)[^/]+\/)*(?:(?:phase[_-]?)?(?:names|scores?|status|routing|routes))\.(?:md|txt|json|ya?ml|toml|csv)$/i,
};

/** Options of a {@link Manager}. */
export interface ManagerOptions {
  /** Reads a file. Without it, every read is refused. */
  read?: (path: string) => Promise<string> | string;
  limits?: Partial<ManagerLimits>;
  /** Size of the orchestrator's own prompt, in tokens. Default: 0. */
  promptTokens?: number;
}

/**
 * Limits and counts what the orchestrator takes into its context.
 * @example
 * const manager = new Manager({ read: (path) => readFile(path, "utf8") });
 * await orchestrate({ manager, ...options });
 */
export class Manager {
  readonly #limits: ManagerLimits;
  readonly #read: ManagerOptions["read"];
  #tokens: number;

  constructor({ read, limits, promptTokens }: ManagerOptions = {}) {
    this.#read = read;
    this.#limits = { ...MANAGER_LIMITS, ...limits };
    this.#tokens = promptTokens ?? 0;
  }

  /** Tokens taken in so far, including the prompt. */
  get tokens(): number {
    return this.#tokens;
  }

  /**
   * Reads a small file that helps to route work.
   * @throws {ReadRefused} For every file that is not named after names, scores, status or routing, such as a plan, a report or
   * source code, and for files above `maxReadTokens`.
   */
  async read(path: string): Promise<string> {
    if (!this.#limits.readable.test(path))
      throw new ReadRefused(path, "detailed_file", "it may contain details");
    if (this.#read === undefined)
      throw new ReadRefused(path, "no_reader", "the manager has no read function");
    const text = await this.#read(path);
    const tokens = Math.ceil(estimateTokens(text));
    if (tokens > this.#limits.maxReadTokens) {
      throw new ReadRefused(
        path,
        "too_large",
        `it has about ${tokens} tokens, and the limit is ${this.#limits.maxReadTokens}`,
      );
    }
    this.#tokens += tokens;
    return text;
  }

  /** Takes in a runner's summary, shortened to one line of at most `maxSummaryChars`. Returns the shortened text. */
  note(text: string): string {
    const { maxSummaryChars } = this.#limits;
    const line = text.replace(/\s+/g, " ").trim();
    const kept = clip(line, maxSummaryChars);
    this.#tokens += Math.ceil(estimateTokens(kept)) + 4;
    return kept;
  }
}
