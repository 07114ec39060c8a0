import type { AlertEndpointTarget, AlertNotification } from "@plimsoll/protocol/alerts";
import { describe, expect, it } from "vitest";
import { newSigningSecret } from "../delivery/stored-secrets.ts";
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
      "168k of 200k tokens",
      "ceiling 160k",
      "compacted",
      "171k",
    ])
      if (kind !== "webhook") expect(text).toContain(part);
    expect(text).toContain("168,000 context tokens crossed the ceiling");
    expect(body).toContain(`${BASE}/sessions/s1?agent=a1`);
  });

  it.each(kinds.filter((kind) => kind !== "webhook"))(
    "for %s says how long an alert lasted and what ended it",
    (kind) => {
      expect(format(kind, resolved).body.replaceAll("\\\\", "")).toContain(
        "after 22 min: the condition no longer holds",
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
