import { createRequire } from "node:module";
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

interface MarkupNode {
  type: string;
  target?: string;
  content?: string | MarkupNode[];
}
interface MarkupParser {
  parse(text: string, kind: "extended"): MarkupNode[];
}

/** Addresses that a reader can click. */
const targetsIn = ({ target, content }: MarkupNode): string[] => [
  ...(target === undefined ? [] : [target]),
  ...(Array.isArray(content) ? content.flatMap(targetsIn) : []),
];

/** Undefined where the package of the tests is not installed. */
function discordParser(): MarkupParser | undefined {
  try {
    return createRequire(import.meta.url)("discord-markdown-parser");
  } catch {
    return undefined;
  }
}
const discord = discordParser();

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

/** An address in a rule's message: where its link leads; undefined if it is none. */
const LINKS: [written: string, link: string | undefined, rest?: string][] = [
  ["https://wiki.example/reviewer", "https://wiki.example/reviewer"],
  ["https://wiki.example/reviewer.", "https://wiki.example/reviewer", "."],
  ["(https://wiki.example/a_(b))", "https://wiki.example/a_(b)", ")"],
  ["https://g.example/d?var=a|b&x=*c*&y", "https://g.example/d?var=a%7Cb&x=*c*&y"],
  ["https://g.example/d>next", "https://g.example/d", ">next"],
  ["<https://g.example/d|open>", "https://g.example/d%7Copen", ">"],
  ["https://g.example/{{DATE(x)}}", "https://g.example/%7B%7BDATE(x)%7D%7D"],
  ["https://wiki.example/😀/字?q=ä", "https://wiki.example/%F0%9F%98%80/%E5%AD%97?q=%C3%A4"],
  ["https://bücher.example/", "https://xn--bcher-kva.example/"],
  ["https://[::1]:3000/[x]", "https://[::1]:3000/%5Bx%5D"],
  ["HTTPS://WIKI.example/A", "https://wiki.example/A"],
  [`https://wiki.example/${"a".repeat(1_400)}`, `https://wiki.example/${"a".repeat(1_400)}`],
  ["javascript:alert(1)", undefined],
  ["wiki.example/reviewer", undefined],
  ["https://", undefined],
  [`https://wiki.example/${"😀".repeat(300)}`, undefined],
];

describe("an address in the message of a rule", () => {
  const said = (written: string) => ({ ...firing, message: `Look here: ${written}\nThen restart it.` });

  it.each(LINKS)("is a link in Slack, row %#", (written, link) => {
    const [, { elements }] = format("slack", said(written)).json.blocks;
    const links = elements[0].elements.filter(({ type }: { type: string }) => type === "link");
    expect(links.map(({ url }: { url: string }) => url)).toEqual(link === undefined ? [] : [link]);
    const text = elements[0].elements.map((element: { text: string }) => element.text).join("");
    expect(text).toBe(said(written).message);
  });

  it.each(LINKS)("is a link in Teams, row %#", (written, link) => {
    const [, { inlines }] = format("teams", said(written)).json.attachments[0].content.body;
    const actions = inlines.flatMap(({ selectAction }: { selectAction?: object }) => selectAction ?? []);
    expect(actions).toEqual(link === undefined ? [] : [{ type: "Action.OpenUrl", url: link }]);
    const text = inlines.map((run: { text: string }) => run.text).join("");
    expect(text.replaceAll("{ {", "{{")).toBe(said(written).message);
  });

  it.each(LINKS)("is a link in Discord, row %#", (written, link, rest = "") => {
    const { description } = format("discord", said(written)).json.embeds[0];
    const found = [...description.matchAll(/(?<!\\)<([^: >]+:\/[^ >]+)>/g)].map(([, url]) => url);
    expect(found).toEqual(link === undefined ? [] : [link]);
    if (link === undefined) return;
    const [before, after] = description.replaceAll(/\\(.)/g, "$1").split(`<${link}>`);
    expect(before).toMatch(/^Look here: [(<]?$/);
    expect(after).toBe(`${rest}\nThen restart it.`);
  });

  it.skipIf(discord === undefined).each(LINKS)(
    "is what a parser of Discord's markup takes for a link, row %#",
    (written, link) => {
      const { description } = format("discord", said(written)).json.embeds[0];
      const targets = discord!.parse(description, "extended").flatMap(targetsIn);
      expect(targets).toEqual(link === undefined ? [] : [link]);
    },
  );

  it("is not cut in two, and what an agent is called is none", () => {
    const named = { ...alert, subject: { ...alert.subject, session: "https://evil.example/x" } };
    const message = `${"a".repeat(1_480)} https://wiki.example/reviewer`;
    const { description, title } = format("discord", { ...firing, message, alerts: [named] }).json.embeds[0];
    expect(description).not.toContain("https");
    expect(title).toContain("https\\:");
    const slack = JSON.stringify(format("slack", { ...firing, alerts: [named] }).json.blocks);
    expect(slack).not.toContain('"url":"https://evil');
  });

  it("keeps the limits of Slack with many long addresses", () => {
    const message = Array.from({ length: 60 }, (_, n) => `https://w.example/${n}/😀😀😀`).join(" ");
    const { blocks } = format("slack", { ...firing, message }).json;
    expect(JSON.stringify(blocks).length).toBeLessThanOrEqual(13_000);
    expect(blocks[1].elements[0].elements[0]).toMatchObject({ type: "link" });
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
