import type { AlertBacktest } from "@plimsoll/protocol/api";
import { atOneMoment } from "../../db/one-moment.ts";
import { PlimsollError } from "../../errors.ts";
import type { Reader } from "../../lines/reader.ts";
import type { Span } from "../../times.ts";
import { validRule } from "../valid-rule.ts";
import { backtest } from "./backtest.ts";

/** Backtests at the same time in one process. */
const MOST_AT_ONCE = 2;

/** Runs backtests, a few at a time: each reads much of the history. */
export class AlertBacktests {
  readonly #databaseUrl: string;
  readonly #stopping = new AbortController();
  #running = 0;

  constructor(databaseUrl: string) {
    this.#databaseUrl = databaseUrl;
  }

  /** Ends all backtests. */
  stop(): void {
    this.#stopping.abort();
  }

  /** @throws PlimsollError `invalid_alert_rule`, `bad_request`, `overloaded` */
  async run(
    { projectId, policy }: Pick<Reader, "projectId" | "policy">,
    { rule: value, span }: { rule: unknown; span: Span },
  ): Promise<AlertBacktest> {
    const rule = validRule(value);
    if (this.#running >= MOST_AT_ONCE)
      throw new PlimsollError("overloaded", "Other backtests are running. Try again in a few seconds.");
    this.#running += 1;
    try {
      return await atOneMoment(this.#databaseUrl, this.#stopping.signal, (sql) =>
        backtest({ sql, projectId, policy, rule, span }),
      );
    } finally {
      this.#running -= 1;
    }
  }
}
