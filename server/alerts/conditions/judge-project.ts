import type { AlertSighting } from "@plimsoll/protocol/alerts";
import { alertKey, type JudgedSubject, type JudgeInput } from "../judged-subject.ts";
import type { LoadedRule } from "../rule-book.ts";

/** What a rule about the whole project sees; nothing if it neither holds nor has an open alert. */
export function judgeProject(
  { open, now }: JudgeInput,
  rule: LoadedRule,
  { holds, why, path }: { holds: boolean; why: string; path: string },
): JudgedSubject[] {
  const subject = "project";
  if (!holds && !open.byKey.has(alertKey(rule.id, subject))) return [];
  const sighting: AlertSighting = holds ? { verdict: "met", at: now } : { verdict: "clear", reason: "below" };
  const report = () => ({ why, level: null, boundaries: [], path });
  return [{ rule, subject, sighting, facts: undefined, place: {}, report }];
}
