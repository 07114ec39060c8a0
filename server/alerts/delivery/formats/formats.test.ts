import type { AlertEndpointTarget, AlertNotification } from "@plimsoll/protocol";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { anyNotification } from "../../../testing/any-notification.ts";
import { newSigningSecret } from "../stored-secrets.ts";
import { formatEmail } from "./email.ts";
import { formatDelivery } from "./index.ts";
import { testNotification } from "./test-notification.ts";
import { titleOf } from "./words.ts";

const NOW = Date.parse("2026-11-23T14:03:22Z");
const BASE = "https://plimsoll.example";
const SIGNING = [newSigningSecret(), newSigningSecret()];
const context = { baseUrl: BASE, signing: SIGNING, now: NOW };
type HttpTarget = Exclude<AlertEndpointTarget, { kind: "email" }>;

const TARGETS = {
  webhook: { kind: "webhook", url: "https://example.com/hook" },
  slack: { kind: "slack", url: "https://hooks.slack.com/services/T/B/x" },
  discord: { kind: "discord", url: "https://discord.com/api/webhooks/1/x" },
  teams: { kind: "teams", url: "https://example.webhook.office.com/x" },
  pagerduty: { kind: "pagerduty", routing_key: "R0", url: "https://events.pagerduty.com" },
  opsgenie: { kind: "opsgenie", api_key: "K0", url: "https://api.opsgenie.com" },
  alertmanager: { kind: "alertmanager", url: "http://alertmanager:9093/", username: "u", password: "p" },
  ntfy: { kind: "ntfy", url: "https://ntfy.example/sub/alerts", token: "tk" },
} satisfies { [K in HttpTarget["kind"]]: Extract<HttpTarget, { kind: K }> };

const format = (kind: keyof typeof TARGETS, notification: AlertNotification) => {
  const request = formatDelivery(TARGETS[kind], notification, context);
  return { ...request, json: JSON.parse(request.body) };
};

const base = testNotification({ id: 1, name: "default" }, { id: "01", now: NOW });
const alert = {
  ...base.alerts[0]!,
  rule: { id: "r", name: "Ceiling crossed", severity: "critical" as const },
  subject: { harness: "phantom@vm-3", session: "fix the build", agent: "reviewer", model: "m-1" },
  path: "/sessions/s1?agent=a1&turn=t9",
};
const firing: AlertNotification = {
  ...base,
  kind: "firing",
  group: "r/phantom@vm-3",
  message: null,
  alerts: [alert],
};
const ended = {
  ...alert,
  resolved_at: new Date(NOW + 22 * 60_000).toISOString(),
  end_reason: "below" as const,
};
const resolved: AlertNotification = { ...firing, id: "02", kind: "resolved", alerts: [ended] };
const many: AlertNotification = {
  ...firing,
  alerts: Array.from({ length: 50 }, (_, n) => ({
    ...alert,
    subject: { ...alert.subject, session: `s${n}` },
  })),
  omitted: 950,
};

const kinds = Object.keys(TARGETS) as (keyof typeof TARGETS)[];

describe("a message", () => {
  it.each(kinds)("for %s names the agent, the level, why, what was before, and the page", (kind) => {
    const { body } = format(kind, firing);
    // Discord hides the backslashes.
    const text = body.replaceAll("\\\\", "");
    for (const part of [
      "phantom@vm-3",
      "fix the build",
      "reviewer",
      "168,000",
      "160,000",
      "compacted",
      "171,000",
    ])
      if (kind !== "webhook") expect(text).toContain(part);
    expect(text).toContain("168,000 context tokens crossed the ceiling");
    expect(body).toContain(`${BASE}/sessions/s1?agent=a1`);
  });

  it.each(kinds.filter((kind) => kind !== "webhook"))(
    "for %s says how long an alert lasted and what ended it",
    (kind) => {
      expect(format(kind, resolved).body.replaceAll("\\\\", "")).toContain(
        "after 22 min: the condition is over",
      );
    },
  );

  it("has a title that says what happened to what", () => {
    expect(titleOf(firing)).toBe("Ceiling crossed at phantom@vm-3, fix the build, reviewer");
    expect(titleOf(resolved)).toBe("Resolved: Ceiling crossed at phantom@vm-3, fix the build, reviewer");
    expect(titleOf({ ...firing, kind: "repeated" })).toContain("Still firing: ");
    expect(titleOf(many)).toBe("Ceiling crossed, 1,000 alerts at phantom@vm-3");
    expect(titleOf(base)).toBe("Test: Test of this endpoint at phantom@example, an example, main");
  });

  it.each(["slack", "discord", "teams", "pagerduty", "opsgenie", "ntfy"] as const)(
    "for %s says how many alerts it does not list",
    (kind) => {
      expect(format(kind, many).body).toMatch(/and 9\d\d more/);
    },
  );
});

describe("Standard Webhooks", () => {
  it("is verified by the standard's own library with either secret", () => {
    // The library compares the time of the attempt with the clock.
    const request = formatDelivery(TARGETS.webhook, firing, { ...context, now: Date.now() });
    for (const secret of SIGNING)
      expect(new Webhook(secret).verify(request.body, { ...request.headers })).toMatchObject({
        type: "alert.firing",
        timestamp: firing.at,
        data: { group: firing.group, alerts: [{ url: `${BASE}${alert.path}`, why: alert.why }] },
      });
    const changed = request.body.replace("phantom", "phantam");
    expect(() => new Webhook(SIGNING[0]!).verify(changed, { ...request.headers })).toThrow();
  });
});

describe("PagerDuty", () => {
  it("has one incident for all messages about a group, and another one for a test", () => {
    const [one, two, test] = [firing, resolved, base].map((message) => format("pagerduty", message).json);
    expect(one).toMatchObject({
      event_action: "trigger",
      routing_key: "R0",
      payload: { severity: "critical" },
    });
    expect(two).toMatchObject({ event_action: "resolve", dedup_key: one.dedup_key });
    expect(format("pagerduty", { ...firing, kind: "acknowledged" }).json.event_action).toBe("acknowledge");
    expect(test.dedup_key).not.toBe(one.dedup_key);
    expect(format("pagerduty", firing).url).toBe("https://events.pagerduty.com/v2/enqueue");
  });
});

describe("Opsgenie", () => {
  it("creates, acknowledges and closes one alert by its alias", () => {
    const create = format("opsgenie", firing);
    expect(create).toMatchObject({
      url: "https://api.opsgenie.com/v2/alerts",
      headers: { authorization: "GenieKey K0" },
    });
    const { alias } = create.json;
    expect(format("opsgenie", resolved).url).toBe(
      `https://api.opsgenie.com/v2/alerts/${alias}/close?identifierType=alias`,
    );
    expect(format("opsgenie", { ...firing, kind: "acknowledged" }).url).toContain(`${alias}/acknowledge?`);
  });
});

describe("Alertmanager", () => {
  it("knows an alert again by its labels, and when it ends", () => {
    const [first, last] = [firing, resolved].map((message) => format("alertmanager", message));
    expect(first).toMatchObject({
      url: "http://alertmanager:9093/api/v2/alerts",
      headers: { authorization: `Basic ${Buffer.from("u:p").toString("base64")}` },
    });
    expect(last!.json[0].labels).toEqual(first!.json[0].labels);
    expect(first!.json[0].labels).toMatchObject({
      alertname: "Ceiling crossed",
      severity: "critical",
      harness: "phantom@vm-3",
    });
    expect(Date.parse(first!.json[0].endsAt)).toBeGreaterThan(NOW);
    expect(last!.json[0].endsAt).toBe(ended.resolved_at);
  });
});

describe("ntfy", () => {
  it("publishes to the topic at the end of the address", () => {
    expect(format("ntfy", firing)).toMatchObject({
      url: "https://ntfy.example/sub",
      headers: { authorization: "Bearer tk" },
      json: { topic: "alerts", priority: 5, click: `${BASE}${alert.path}` },
    });
  });
});

/** Texts anywhere in a value. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

const isWellFormed = (text: string) =>
  !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(text);

describe("whatever an agent is called", () => {
  // biome-ignore lint/suspicious/noExplicitAny: each test reads the JSON of one vendor
  const check = (kind: keyof typeof TARGETS, holds: (json: any, body: string) => void) => {
    fc.assert(
      fc.property(anyNotification, (notification) => {
        const { json, body, headers, url } = format(kind, notification);
        for (const value of [...Object.values(headers), url]) expect(value).toMatch(/^[\x20-\x7e]*$/);
        holds(json, body);
      }),
      { numRuns: 150 },
    );
  };

  it("Slack gets blocks within its limits, and no mention, link or markup of others", () => {
    check("slack", ({ text, blocks }, body) => {
      expect(blocks.length).toBeLessThanOrEqual(50);
      expect(text).not.toMatch(/[<>]/);
      for (const { type, text: said, fields = [], elements = [] } of blocks) {
        if (type === "header") expect(said.text.length).toBeLessThanOrEqual(150);
        if (said)
          expect(said).toMatchObject({ type: "plain_text", text: expect.stringMatching(/^.{1,3000}$/s) });
        expect(fields.length).toBeLessThanOrEqual(10);
        for (const field of fields) {
          expect(field.type).toBe("plain_text");
          expect(field.text.length).toBeLessThanOrEqual(2_000);
        }
        for (const { type: kind, text: link } of elements)
          if (kind === "mrkdwn")
            expect(link).toMatch(/^<https:\/\/plimsoll\.example\/[^\s<>|]*\|Open in Plimsoll>$/);
      }
      expect(textsOf(JSON.parse(body)).every(isWellFormed)).toBe(true);
    });
  });

  it("Discord gets an embed within its limits, in which nothing is markup or a mention", () => {
    check("discord", ({ embeds: [embed], allowed_mentions }) => {
      expect(allowed_mentions).toEqual({ parse: [] });
      expect(embed.title.length).toBeLessThanOrEqual(256);
      expect(embed.description?.length ?? 0).toBeLessThanOrEqual(4_096);
      expect(embed.fields.length).toBeLessThanOrEqual(25);
      for (const { name, value } of embed.fields) {
        expect(value.length).toBeGreaterThan(0);
        expect(value.length).toBeLessThanOrEqual(1_024);
        expect(name.length).toBeLessThanOrEqual(256);
      }
      const shown = [
        embed.title,
        embed.description ?? "",
        ...embed.fields.map(({ value }: { value: string }) => value),
      ];
      expect(shown.join("").length).toBeLessThanOrEqual(6_000);
      for (const text of shown) {
        // Without escaped characters, and without the marks of the list, nothing is left that Discord would read.
        const rest = text.replace(/\\./gs, "").replace(/^- /gm, "");
        expect(rest).not.toMatch(/[*_~`|<>[\]()#@]/);
        expect(isWellFormed(text)).toBe(true);
      }
    });
  });

  it("Teams gets a card below 28 KB, made of runs", () => {
    check("teams", ({ attachments: [{ content }] }, body) => {
      expect(Buffer.byteLength(body)).toBeLessThan(28 * 1_024);
      for (const block of content.body) {
        expect(block.type).toBe("RichTextBlock");
        for (const { type, text } of block.inlines) {
          expect(type).toBe("TextRun");
          expect(text.length).toBeGreaterThan(0);
        }
      }
      for (const { url } of content.actions) expect(url).toMatch(/^https:\/\/plimsoll\.example\//);
    });
  });

  it("PagerDuty gets an event within its limits", () => {
    check("pagerduty", ({ dedup_key, payload, links }, body) => {
      expect(dedup_key.length).toBeLessThanOrEqual(255);
      expect(payload.summary.length).toBeLessThanOrEqual(1_024);
      expect(payload.summary.length).toBeGreaterThan(0);
      expect(payload.source.length).toBeGreaterThan(0);
      expect(Buffer.byteLength(body)).toBeLessThan(512 * 1_024);
      for (const { href } of links) expect(href).toMatch(/^https:\/\/plimsoll\.example\//);
    });
  });

  it("Opsgenie gets an alert within its limits", () => {
    check("opsgenie", ({ message = "-", alias = "-", description = "", source, tags = [], note = "" }) => {
      expect(message.length).toBeGreaterThan(0);
      expect(message.length).toBeLessThanOrEqual(130);
      expect(alias.length).toBeLessThanOrEqual(512);
      expect(description.length).toBeLessThanOrEqual(15_000);
      expect(note.length).toBeLessThanOrEqual(25_000);
      expect(source.length).toBeLessThanOrEqual(100);
      expect(tags.length).toBeLessThanOrEqual(20);
    });
  });

  it("Alertmanager gets label names it allows, and no empty label", () => {
    check("alertmanager", (alerts) => {
      for (const { labels, endsAt, generatorURL } of alerts) {
        for (const [name, value] of Object.entries(labels)) {
          expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_]*$/);
          expect(value).not.toBe("");
        }
        expect(Number.isNaN(Date.parse(endsAt))).toBe(false);
        expect(generatorURL).toMatch(/^https:\/\/plimsoll\.example\//);
      }
    });
  });

  it("ntfy gets a message that it does not turn into an attachment", () => {
    check("ntfy", ({ message, title }) => {
      expect(Buffer.byteLength(message)).toBeLessThanOrEqual(4_096);
      expect(title.length).toBeGreaterThan(0);
      expect(isWellFormed(message)).toBe(true);
    });
  });

  it("an e-mail has one line of subject, and no markup in its HTML but its own", () => {
    fc.assert(
      fc.property(anyNotification, (notification) => {
        const { subject, html, messageId, references } = formatEmail(notification, BASE);
        expect(subject).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(subject.length).toBeLessThanOrEqual(200);
        const tags = [...html.matchAll(/<\/?([a-z0-9]*)/gi)].map(([, tag]) => tag);
        const own = ["", "html", "body", "h1", "h2", "p", "table", "tr", "th", "td", "a"];
        expect(tags.filter((tag) => !own.includes(tag!))).toEqual([]);
        for (const [, href] of html.matchAll(/href="([^"]*)"/g))
          expect(href).toMatch(/^https:\/\/plimsoll\.example\//);
        for (const id of [messageId, references]) expect(id).toMatch(/^<[0-9a-f]{32}@plimsoll\.invalid>$/);
      }),
      { numRuns: 150 },
    );
  });
});
