import { createRequire } from "node:module";
import { EmbedBuilder, embedLength } from "@discordjs/builders";
import type { AlertNotification } from "@plimsoll/protocol/alerts";
import type { KnownBlock } from "@slack/types";
import fc from "fast-check";
import { createTransport } from "nodemailer";
import { describe, expect, it } from "vitest";
import { anyNotification } from "../../testing/any-notification.ts";
import type { OutgoingRequest } from "../delivery/send-request.ts";
import { formatEmail } from "./email.ts";
import { formatDelivery } from "./index.ts";
import { linkedParts, partsText, plainLines } from "./text.ts";

// The package's module build imports files without their extensions, which Node refuses.
const { AdaptiveCard, SerializationContext, Versions } = createRequire(import.meta.url)(
  "adaptivecards/dist/adaptivecards.js",
) as typeof import("adaptivecards");

const BASE = "http://127.0.0.1:4180";
const context = {
  baseUrl: BASE,
  signing: ["whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"],
  now: 1_700_000_000_000,
};
const url = "https://receiver.example/hook?token=x";

/** Checks a property of what a receiver gets, for any notification. */
const holds = (
  target: Parameters<typeof formatDelivery>[0],
  // biome-ignore lint/suspicious/noExplicitAny: a body is checked against its vendor's schema, not ours.
  check: (body: any, request: OutgoingRequest, notification: AlertNotification) => void,
) =>
  fc.assert(
    fc.property(anyNotification, (notification) => {
      const request = formatDelivery(target, notification, context);
      for (const [name, value] of Object.entries(request.headers)) new Headers().set(name, value);
      check(JSON.parse(request.body), request, notification);
    }),
    { numRuns: 100 },
  );

/** All strings in a JSON value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** No half characters, no control characters and nothing that changes the direction of text. */
const expectClean = (value: unknown) => {
  for (const text of textsIn(value)) {
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  }
};

/** Only what the author of a rule wrote becomes another link than those to the server. */
const expectWrittenLink = (link: string, shown: string, { message }: AlertNotification) => {
  expect(link).toMatch(/^https?:\/\/[^\s<>{}|\\^`"]+$/i);
  expect(link.length).toBeLessThanOrEqual(2_000);
  const whole = (address: string) => address.replace(/%(5[BCDE]|60|7[BCD])/g, decodeURIComponent);
  expect(whole(link)).toBe(whole(new URL(shown).href));
  expect(plainLines(message ?? "")).toContain(shown);
};

const expectOwnLink = (link: string) => expect(new URL(link).origin).toBe(BASE);

/** `and N more` counts every alert that a message leaves out. */
const expectRest = (said: string | undefined, listed: number, { alerts, omitted }: AlertNotification) => {
  const left = alerts.length + omitted - listed;
  expect(said ?? "").toBe(left === 0 ? "" : `and ${left.toLocaleString("en-US")} more`);
};

describe("what a receiver gets, whatever the names and texts", () => {
  it("keeps Slack's limits, and is no mention, link or markup", () => {
    holds({ kind: "slack", url }, (body, _, notification) => {
      expectClean(body);
      const blocks: KnownBlock[] = body.blocks;
      expect(blocks.length).toBeLessThanOrEqual(50);
      expect(JSON.stringify(blocks).length).toBeLessThanOrEqual(13_000);
      // Slack reads `text` as markup: an unescaped bracket would begin a mention.
      expect(body.text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
      expect(body.text.length).toBeGreaterThan(0);
      let listed = 0;
      for (const block of blocks) {
        if (block.type === "header") expect(inside(block.text, 150)).toBe("plain_text");
        else if (block.type === "context") {
          const [rest] = block.elements as [{ type: string; text: string }];
          expect(inside(rest, 3_000)).toBe("plain_text");
        } else if (block.type === "rich_text") {
          for (const section of block.elements.flatMap((part) =>
            part.type === "rich_text_list" ? part.elements : [part],
          )) {
            const elements = section.elements as {
              type: string;
              url?: string;
              timestamp?: number;
              text?: string;
            }[];
            for (const element of elements) {
              expect(["text", "link", "date"]).toContain(element.type);
              if (element.type === "date") expect(Number.isInteger(element.timestamp)).toBe(true);
              if (element.type === "text") expect(element.text?.length).toBeGreaterThan(0);
              if (element.type !== "link") continue;
              if (element.text !== "Open in Plimsoll") {
                expectWrittenLink(element.url as string, element.text as string, notification);
                continue;
              }
              listed += 1;
              expect(element.url?.length).toBeLessThanOrEqual(3_000);
              expectOwnLink(element.url as string);
            }
          }
        } else throw new Error(`unexpected block ${block.type}`);
      }
      const rest = blocks.find(({ type }) => type === "context") as
        | { elements: [{ text: string }] }
        | undefined;
      expectRest(rest?.elements[0].text, listed, notification);
    });
  });

  it("keeps Discord's limits, and every mark of a name is escaped", () => {
    holds({ kind: "discord", url }, (body, _, notification) => {
      expectClean(body);
      expect(body.allowed_mentions).toEqual({ parse: [] });
      const [embed] = body.embeds;
      new EmbedBuilder(embed).toJSON();
      expect(embedLength(embed)).toBeLessThanOrEqual(6_000);
      if (embed.url !== undefined) {
        expect(embed.url.length).toBeLessThanOrEqual(2_048);
        expectOwnLink(embed.url);
      }
      for (const { name, value } of embed.fields) expect(name !== "" && value !== "").toBe(true);
      expect(embed.title).not.toBe("");
      const said: string = (embed.description ?? "").replace(
        /<(https?:[^ >]+)>/g,
        (_: string, link: string) => {
          const parts = linkedParts(plainLines(notification.message ?? ""));
          const written = parts.find(
            (part) => typeof part !== "string" && "url" in part && part.url === link,
          );
          expectWrittenLink(link, partsText([written ?? ""]), notification);
          return "";
        },
      );
      const lines = said.split("\n");
      for (const text of [
        embed.title,
        ...embed.fields.map(({ value }: { value: string }) => value),
        ...lines,
      ]) {
        const own = text.replace(/^- /, "").replace(/<t:-?\d+:f>/g, "");
        expect(own.replace(/\\[^0-9A-Za-z\s]/g, "")).not.toMatch(/[\\*_~`|<>[\]()#@:]/);
      }
      const shown = notification.alerts.length + notification.omitted === 1 ? 1 : undefined;
      if (shown === undefined) {
        const listed = lines.filter((line: string) => line.startsWith("- ")).length;
        const rest = lines.at(-1) ?? "";
        expectRest(/^and [\d,]+ more$/.test(rest) ? rest : undefined, listed, notification);
      }
    });
  });

  it("is an Adaptive Card that Teams accepts, without markup", () => {
    holds({ kind: "teams", url }, (body, { body: sent }, notification) => {
      expectClean(body);
      expect(Buffer.byteLength(sent)).toBeLessThanOrEqual(28_000);
      const { content } = body.attachments[0];
      const parsing = new SerializationContext(Versions.v1_4);
      new AdaptiveCard().parse(content, parsing);
      expect(
        Array.from({ length: parsing.eventCount }, (_, index) => parsing.getEventAt(index).message),
      ).toEqual([]);
      for (const block of content.body) {
        // Only a TextBlock and a FactSet read markup.
        expect(block.type).toBe("RichTextBlock");
        for (const { text, selectAction } of block.inlines) {
          expect(text).not.toContain("{{");
          if (selectAction === undefined) continue;
          expect(selectAction.type).toBe("Action.OpenUrl");
          expect(selectAction.url).not.toContain("{");
          expectWrittenLink(selectAction.url, text.replaceAll("{ {", "{{"), notification);
        }
      }
      for (const action of content.actions) expectOwnLink(action.url);
    });
  });

  it("keeps PagerDuty's limits, with one key for a group", () => {
    holds(
      { kind: "pagerduty", url, routing_key: "k" },
      (body, { body: sent, url: address }, notification) => {
        expectClean(body);
        expect(address).toBe("https://receiver.example/hook/v2/enqueue?token=x");
        expect(Buffer.byteLength(sent)).toBeLessThanOrEqual(512_000);
        expect(["trigger", "acknowledge", "resolve"]).toContain(body.event_action);
        expect(body.dedup_key.length).toBeLessThanOrEqual(255);
        const { summary, source, severity, timestamp } = body.payload;
        expect(summary.length > 0 && summary.length <= 1_024).toBe(true);
        expect(source.length > 0 && source.length <= 255).toBe(true);
        expect(["critical", "error", "warning", "info"]).toContain(severity);
        expect(Number.isNaN(Date.parse(timestamp))).toBe(false);
        for (const { href } of body.links) expectOwnLink(href);
        const end = { ...notification, id: "later", kind: "resolved" as const };
        const resolve = JSON.parse(
          formatDelivery({ kind: "pagerduty", url, routing_key: "k" }, end, context).body,
        );
        expect(resolve.event_action).toBe("resolve");
        // A test is an incident of its own.
        expect(resolve.dedup_key === body.dedup_key).toBe(notification.kind !== "test");
      },
    );
  });

  it("keeps Opsgenie's limits, with one alias for a group and no tags of HTML", () => {
    holds({ kind: "opsgenie", url, api_key: "k" }, (body, { url: address, headers }, { kind }) => {
      expectClean(body);
      expect(headers.authorization).toBe("GenieKey k");
      for (const text of textsIn(body)) expect(text).not.toMatch(/<[a-z/!?]/i);
      const { pathname, searchParams } = new URL(address);
      expect(searchParams.get("token")).toBe("x");
      expect(body.source.length).toBeLessThanOrEqual(100);
      if (kind === "acknowledged" || kind === "resolved") {
        expect(pathname).toMatch(/^\/hook\/v2\/alerts\/plimsoll-[0-9a-f]{32}\/(acknowledge|close)$/);
        expect(searchParams.get("identifierType")).toBe("alias");
        expect(body.note.length).toBeLessThanOrEqual(25_000);
        return;
      }
      expect(pathname).toBe("/hook/v2/alerts");
      expect(body.message.length > 0 && body.message.length <= 130).toBe(true);
      expect(body.description.length).toBeLessThanOrEqual(15_000);
      expect(body.entity.length).toBeLessThanOrEqual(512);
      expect(body.alias.length).toBeLessThanOrEqual(512);
      expect(body.tags.length).toBeLessThanOrEqual(20);
      for (const tag of body.tags) expect(tag.length).toBeLessThanOrEqual(50);
    });
  });

  it("keeps ntfy's limits, and no name is in a header", () => {
    holds({ kind: "ntfy", url: "https://ntfy.example/sub/my-topic", token: "tk_1" }, (body, request) => {
      expectClean(body);
      expect(request.url).toBe("https://ntfy.example/sub");
      expect(request.headers).toEqual({ "content-type": "application/json", authorization: "Bearer tk_1" });
      expect(body.topic).toBe("my-topic");
      expect(Buffer.byteLength(body.message)).toBeLessThanOrEqual(4_096);
      expect([3, 4, 5]).toContain(body.priority);
      if (body.click !== undefined) expectOwnLink(body.click);
    });
  });

  it("is a mail of one subject line, whose HTML has no element of a name", () => {
    fc.assert(
      fc.property(anyNotification, (notification) => {
        const { subject, text, html, messageId, references } = formatEmail(notification, BASE);
        expectClean([subject, text, html]);
        expect(subject.length).toBeLessThanOrEqual(200);
        expect(subject).not.toMatch(/[\r\n]/);
        for (const id of [messageId, references]) expect(id).toMatch(/^<[0-9a-f]{32}@plimsoll\.invalid>$/);
        const tags = new Set(html.match(/<\/?[^\s>]*/g)?.map((tag) => tag.replace(/^<\/?/, "")));
        const known = ["!doctype", "html", "body", "h1", "h2", "p", "table", "tr", "th", "td", "a"];
        expect([...tags].filter((tag) => !known.includes(tag))).toEqual([]);
        for (const [, link] of html.matchAll(/href="([^"]*)"/g)) expectOwnLink(link as string);
      }),
      { numRuns: 100 },
    );
  });
});

const transport = createTransport({ streamTransport: true, buffer: true });

it("has no header of a name when it is sent as a mail", async () => {
  await fc.assert(
    fc.asyncProperty(anyNotification, async (notification) => {
      const mail = formatEmail(notification, BASE);
      const sent = await transport.sendMail({ from: "a@b.example", to: "c@d.example", ...mail });
      const [head = ""] = sent.message.toString().split("\r\n\r\n");
      const names = head
        .replace(/\r\n[ \t]/g, " ")
        .split("\r\n")
        .map((line) => line.split(":", 1)[0]);
      expect(names.sort()).toEqual([
        "Auto-Submitted",
        "Content-Type",
        "Date",
        "From",
        "MIME-Version",
        "Message-ID",
        "References",
        "Subject",
        "To",
        "X-Auto-Response-Suppress",
      ]);
    }),
    { numRuns: 100 },
  );
});

const inside = ({ type, text }: { type: string; text: string }, most: number) => {
  expect(text.length > 0 && text.length <= most).toBe(true);
  return type;
};
