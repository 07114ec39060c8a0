import { createServer } from "node:net";
import type { AlertEndpointTarget } from "@plimsoll/protocol/alerts";
import { afterEach, beforeEach, expect, it } from "vitest";
import { parseNetworks } from "../../networks.ts";
import { type Receiver, startReceiver } from "../../testing/receiver.ts";
import { testNotification } from "../formats/test-notification.ts";
import { attempt } from "./attempt.ts";

const NOW = Date.parse("2026-11-23T14:00:00Z");
const notification = testNotification({ id: 1, name: "default" }, { id: "n1", now: NOW });
const SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const send = (target: AlertEndpointTarget) =>
  attempt(
    {
      notification,
      secrets: { target, signing: target.kind === "webhook" ? [SIGNING] : [] },
      address: "https://receiver.example/…",
      baseUrl: "https://plimsoll.example",
      now: NOW,
    },
    { open: parseNetworks("loopback")! },
  );

const HARD = 'k"e\\y/ü+%2F=';
const base64 = (text: string) => Buffer.from(text).toString("base64");

const formsOf = (secret: string) => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  base64(secret),
];

it.each<[kind: string, target: (at: Receiver) => AlertEndpointTarget, secrets: string[]]>([
  ["PagerDuty", ({ url }) => ({ kind: "pagerduty", routing_key: HARD, url }), [HARD]],
  ["Opsgenie", ({ url }) => ({ kind: "opsgenie", api_key: HARD, url }), [HARD]],
  [
    "Alertmanager",
    ({ url }) => ({ kind: "alertmanager", url, username: "me", password: HARD }),
    [HARD, `me:${HARD}`],
  ],
  ["ntfy", ({ url }) => ({ kind: "ntfy", url: `${url}/t0pic` }), ["t0pic"]],
  [
    "Slack",
    ({ url }) => ({ kind: "slack", url: `${url}/services/T0/B0/AbCdEfGhIjKlMnOpQrSt` }),
    ["AbCdEfGhIjKlMnOpQrSt"],
  ],
  [
    "a webhook",
    ({ port }) => ({ kind: "webhook", url: `http://me:p%40ss@127.0.0.1:${port}/hook?token=in-the-query` }),
    ["p@ss", "me:p@ss", "in-the-query", SIGNING],
  ],
])("shows no secret of %s, whatever the receiver repeats", async (_, targetAt, secrets) => {
  const repeated = secrets.flatMap(formsOf);
  receiver.answer(({ path, headers, body }, response) =>
    response.end([path, body, JSON.stringify(headers), ...repeated].join("\n")),
  );
  const { outcome, request, answer } = await send(targetAt(receiver));
  expect(outcome).toBe("delivered");
  for (const form of repeated) {
    expect(request).not.toContain(form);
    expect(answer).not.toContain(form);
  }
  expect(request).toContain("Test of this endpoint");
});

it("shows no signature: whoever has it can send the message again", async () => {
  receiver.answer(({ headers }, response) => response.end(headers["webhook-signature"]));
  const { request, answer } = await send({ kind: "webhook", url: receiver.url });
  const signature = String(receiver.requests[0]!.headers["webhook-signature"]);
  expect(signature).toMatch(/^v1,/);
  expect(request + answer).not.toContain(signature);
});

it("delivers to an address that was saved with a stray %", async () => {
  const url = `http://us%er:pa%ss@127.0.0.1:${receiver.port}/hook`;
  expect(await send({ kind: "webhook", url })).toMatchObject({ outcome: "delivered", answer: "ok" });
  expect(receiver.requests[0]!.headers.authorization).toBe(`Basic ${base64("us%er:pa%ss")}`);
});

it("keeps of an answer what the database can store", async () => {
  receiver.answer((_, response) => response.end(`a\0b${"é".repeat(4_096)}`));
  expect((await send({ kind: "webhook", url: receiver.url })).answer).toBe(`ab${"é".repeat(2_046)}`);
});

it("keeps the answer of a mail server without NUL, and sends the mail once", async () => {
  let mails = 0;
  const server = createServer((socket) => {
    socket.write("220 mail\r\n");
    socket.on("data", (data) => {
      const text = String(data);
      if (/^(EHLO|HELO|MAIL|RCPT)/.test(text)) socket.write("250 ok\r\n");
      else if (text.startsWith("DATA")) socket.write("354 go on\r\n");
      else if (text.endsWith("\r\n.\r\n")) {
        mails += 1;
        socket.write("250 queued as \0\0A1\r\n");
      } else if (text.startsWith("QUIT")) socket.end("221 bye\r\n");
    });
    socket.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const target = {
    from: "plimsoll@example.com",
    to: ["a@example.com"],
    smtp_url: `smtp://127.0.0.1:${port}`,
  };
  const sent = await send({ kind: "email", ...target });
  expect(sent).toMatchObject({ outcome: "delivered", answer: "250 queued as A1" });
  expect(mails).toBe(1);
  server.close();
});
