import {
  ALERT_END_REASONS,
  ALERT_SEVERITIES,
  type AlertNotification,
  NOTIFICATION_KINDS,
} from "@plimsoll/protocol";
import fc from "fast-check";

/** What somebody may call an agent to harm whoever reads of it. */
const HOSTILE = [
  "<!channel>",
  "<@U0123456>",
  "<https://evil.example|click>",
  "@everyone",
  "@here",
  "<@&123>",
  "[click](https://evil.example)",
  "**bold** _x_ `code` ~~s~~ ||spoiler||",
  "# heading",
  "- item",
  "> quote",
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "a\r\nBcc: everyone@example.com",
  "a\r\nX-Evil: 1",
  "\u202Egnp.exe",
  "\u0000",
  "\u2028line",
  "é".repeat(300),
  "😀".repeat(500),
  "{{template}} %s",
  "&amp; &lt;",
  "\\",
  "\ud83d",
];
const name = fc.oneof(
  fc.constantFrom(...HOSTILE),
  fc.string({ unit: "binary", minLength: 1, maxLength: 400 }),
  fc.string({ minLength: 1, maxLength: 200 }),
);
const time = fc
  .integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 })
  .map((ms) => new Date(ms).toISOString());
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const tokens = fc.integer({ min: 0, max: 2_000_000_000 });

const alert = fc.record({
  id: fc.uuid(),
  rule: fc.record({ id: fc.uuid(), name, severity: fc.constantFrom(...ALERT_SEVERITIES) }),
  condition: fc.constantFrom("threshold", "load", "silence"),
  subject: fc.record({
    harness: orNull(name),
    session: orNull(name),
    agent: orNull(name),
    model: orNull(name),
  }),
  labels: fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9_]{0,10}$/), name, { maxKeys: 5 }),
  started_at: time,
  fired_at: time,
  resolved_at: orNull(time),
  end_reason: orNull(fc.constantFrom(...ALERT_END_REASONS)),
  acknowledged_by: orNull(name),
  why: name,
  level: orNull(
    fc.record({
      context_tokens: tokens,
      window_tokens: orNull(tokens),
      line: orNull(name),
      line_tokens: orNull(tokens),
    }),
  ),
  boundaries: fc.array(
    fc.record({ type: name, at: time, tokens_before: orNull(tokens), tokens_after: orNull(tokens) }),
    { maxLength: 3 },
  ),
  path: fc.constantFrom("/sessions/0198f2?agent=a&turn=b", "/alerts", "/policies?scope=family%3Dphantom"),
});

/** Any notification, with names that try to be more than names. */
export const anyNotification: fc.Arbitrary<AlertNotification> = fc.record({
  id: fc.uuid(),
  kind: fc.constantFrom(...NOTIFICATION_KINDS),
  project: fc.record({ id: fc.integer({ min: 1, max: 1_000_000 }), name }),
  group: name,
  message: orNull(fc.oneof(name, fc.string({ minLength: 1, maxLength: 2_000 }))),
  alerts: fc.oneof(
    fc.array(alert, { minLength: 1, maxLength: 3 }),
    fc.array(alert, { minLength: 40, maxLength: 50 }),
  ),
  omitted: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100_000 })),
  at: time,
});
