import { conditionKind } from "@plimsoll/fold";
import type { AlertNotification } from "@plimsoll/protocol/alerts";
import { iso } from "../../times.ts";

/**
 * A notification that looks like a real one and says that it is a test.
 * @param now epoch ms
 */
export function testNotification(
  project: { id: number; name: string },
  { id, now }: { id: string; now: number },
): AlertNotification {
  const before = (minutes: number) => iso(now - minutes * 60_000);
  return {
    id,
    kind: "test",
    project,
    group: `test/${id}`,
    message: "This is a test. No agent is in trouble.",
    alerts: [
      {
        id,
        rule: { id, name: "Test of this endpoint", severity: "info" },
        condition: "threshold",
        subject: { harness: "phantom@example", session: "an example", agent: "main", model: "example-model" },
        labels: {},
        started_at: before(1),
        fired_at: before(0),
        resolved_at: null,
        end_reason: null,
        acknowledged_by: null,
        why: "168,000 context tokens crossed the ceiling (160,000 tokens)",
        advice: conditionKind({ type: "threshold" }).advice,
        level: { context_tokens: 168_000, window_tokens: 200_000, line: "ceiling", line_tokens: 160_000 },
        ended_by: null,
        boundaries: [
          { type: "compacted", at: before(42), tokens_before: 171_000, tokens_after: 12_400 },
          { type: "masked", at: before(55), tokens_before: 150_000, tokens_after: 96_000 },
          { type: "compacted", at: before(97), tokens_before: 169_500, tokens_after: 11_800 },
        ],
        path: "/alerts",
      },
    ],
    omitted: 0,
    at: iso(now),
  };
}
