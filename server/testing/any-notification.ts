import {
  ALERT_END_REASONS,
  ALERT_SEVERITIES,
  type AlertFacts,
  type AlertNotification,
  NOTIFICATION_KINDS,
} from "@plimsoll/protocol/alerts";
import fc from "fast-check";

/** Texts that a receiver could take for markup, mentions, links, headers or templates. */
const HOSTILE_TEXTS = [
  "@everyone",
  "@here <!channel> <!here|x> <@U123ABC> <#C123|general> <!subteam^S1>",
  "<@123456789012345678> <@&42> <#42> <:e:1> <t:1:R>",
  "[click](https://evil.example) https://evil.example/x www.evil.example",
  "**bold** __u__ ~~s~~ ||spoiler|| `code` ```block``` > quote # head - item 1. one",
  "<at>everyone</at> {{DATE(2017-02-14T06:08:39Z, SHORT)}} %7B%7B {{ .Labels }}",
  '<img src=x onerror=alert(1)> <a href="https://evil.example">x</a> </td></table> &amp; &lt;',
  "a\r\nBcc: everyone@evil.example\r\n\r\nbody",
  "\u0000\u0007\u001b[31m\u2028\u2029",
  "\u202Etxt.exe\u2066\u200B\uFEFF",
  "\uD83D",
  "\uDE00\uD83D",
  "👩‍👩‍👧‍👦".repeat(60),
  "字".repeat(600),
  '"\\'.repeat(300),
  "\\",
  "…\\…",
  " ",
  "",
];

const hostile = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 600 }),
  fc.string({ unit: fc.constantFrom("\\", "*", "<", "@", ":", "&", "😀", "字", '"', "{"), maxLength: 600 }),
);
/** Lone surrogates included. */
const anyName = fc.oneof(
  hostile,
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
    .map((codes) => String.fromCharCode(...codes)),
);
const anyTime = fc
  .date({ min: new Date("1970-01-01T00:00:00Z"), max: new Date("2200-01-01T00:00:00Z"), noInvalidDate: true })
  .map((date) => date.toISOString());
const anyTokens = fc.nat({ max: 2_000_000_000 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const anyBoundary = fc.record({
  type: anyName,
  at: anyTime,
  tokens_before: maybe(anyTokens),
  tokens_after: maybe(anyTokens),
});

/** Any alert whose texts want to do harm. */
const anyAlert: fc.Arbitrary<AlertFacts> = fc.record({
  id: fc.uuid(),
  rule: fc.record({
    id: fc.uuid(),
    name: anyName,
    severity: fc.constantFrom(...ALERT_SEVERITIES),
  }),
  condition: fc.constantFrom("threshold", "load", "harness_silent"),
  subject: fc.record({
    harness: maybe(anyName),
    session: maybe(anyName),
    agent: maybe(anyName),
    model: maybe(anyName),
  }),
  labels: fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9_]{0,39}$/), anyName, { maxKeys: 5 }),
  started_at: anyTime,
  fired_at: anyTime,
  resolved_at: maybe(anyTime),
  end_reason: maybe(fc.constantFrom(...ALERT_END_REASONS)),
  acknowledged_by: maybe(anyName),
  why: anyName,
  level: maybe(
    fc.record({
      context_tokens: anyTokens,
      window_tokens: maybe(anyTokens),
      line: maybe(anyName),
      line_tokens: maybe(anyTokens),
    }),
  ),
  advice: maybe(anyName),
  boundaries: fc.array(anyBoundary, { maxLength: 3 }),
  ended_by: maybe(anyBoundary),
  path: fc.oneof(
    anyName.map((name) => `/?harness=${encodeURIComponent(name.toWellFormed())}`),
    anyName.map((name) => `/${name}`),
    fc.constantFrom(
      "//evil.example",
      "/\\evil.example",
      "/\t/evil.example",
      "https://evil.example",
      "",
      "/%zz",
    ),
  ),
});

/** What rules say, with addresses as people write them, and others that a receiver could stumble over. */
const anyMessage = fc
  .array(
    fc.oneof(
      anyName,
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc.constantFrom(
        "https://wiki.example/a_(b)_*c*",
        "(see https://wiki.example/x?a=1|2&b={{DATE()}})",
        "https://wiki.example/😀/字 https://[::1]:8080/[x]",
        `https://wiki.example/${"😀".repeat(300)}`,
        "https://",
        "http://%zz http://a b",
      ),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(" ").slice(0, 2_000));

/** Any notification whose texts want to do harm. */
export const anyNotification: fc.Arbitrary<AlertNotification> = fc.record({
  id: fc.uuid(),
  kind: fc.constantFrom(...NOTIFICATION_KINDS),
  project: fc.record({ id: fc.nat(), name: anyName }),
  group: anyName,
  message: maybe(fc.oneof(anyName, anyMessage)),
  alerts: fc.oneof(
    fc.array(anyAlert, { minLength: 1, maxLength: 1 }),
    fc.array(anyAlert, { maxLength: 50, size: "max" }),
  ),
  omitted: fc.oneof(fc.constant(0), fc.nat({ max: 100_000 })),
  at: anyTime,
});
