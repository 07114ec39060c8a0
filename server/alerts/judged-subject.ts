import type { AlertSighting } from "@plimsoll/protocol/alerts";
import type { Sql } from "../db/sql.ts";
import type { PolicyBook } from "../lines/policy-book.ts";
import type { AlertPlace, FiringFacts, OpenAlert } from "./alert-rows.ts";
import type { LoadedRule, RuleBook, ScopeFacts } from "./rule-book.ts";
import type { Watch } from "./watch.ts";

/** What conditions are judged by. */
export interface JudgeInput {
  sql: Pick<Sql, "query">;
  project: { id: number; name: string };
  policy: PolicyBook;
  book: RuleBook;
  /** Open alerts, by `alertKey`. */
  open: { readonly byKey: ReadonlyMap<string, OpenAlert> };
  watch: Watch;
  /** The database's time in epoch ms. */
  now: number;
}

/** What a rule sees of one subject. */
export interface JudgedSubject {
  rule: LoadedRule;
  /** Names the subject, such as `agent/<id>/<window>`. */
  subject: string;
  place: AlertPlace;
  facts: ScopeFacts | undefined;
  sighting: AlertSighting;
  /** What to report if it fires now. */
  report: () => Omit<FiringFacts, "rule" | "severity" | "condition">;
}

export const alertKey = (ruleId: string, subject: string): string => `${ruleId} ${subject}`;
