import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterEach, describe, expect, it } from "vitest";
import { parseNetworks } from "../../networks.ts";
import { testNotification } from "../formats/test-notification.ts";
import { sendEmail } from "./send-email.ts";

let server: SMTPServer | undefined;
afterEach(async () => {
  await new Promise<void>((done) => (server === undefined ? done() : server.close(done)));
  server = undefined;
});

interface Mail {
  user: string | undefined;
  secure: boolean;
  from: string;
  to: string[];
  text: string;
}

/** A real SMTP server on loopback, with a certificate that nobody trusts. */
async function startMail(options: SMTPServerOptions = {}): Promise<{ port: number; mails: Mail[] }> {
  const mails: Mail[] = [];
  server = new SMTPServer({
    onAuth: ({ username, password }, _, done) =>
      password === "p@ss word" ? done(null, { user: username }) : done(new Error("wrong password")),
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push({
          user: session.user,
          secure: session.secure,
          from: session.envelope.mailFrom === false ? "" : session.envelope.mailFrom.address,
          to: session.envelope.rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString("utf8"),
        });
        done();
      });
    },
    authOptional: true,
    logger: false,
    ...options,
  });
  // A client that does not trust the certificate ends the connection.
  server.on("error", () => {});
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  return { port: (server.server.address() as AddressInfo).port, mails };
}

const notification = testNotification(
  { id: 1, name: "default" },
  { id: "n1", now: Date.parse("2026-11-23T14:00:00Z") },
);
const send = (smtp_url: string, networks = "loopback", timeoutMs = 5_000) =>
  sendEmail(
    { kind: "email", smtp_url, from: "plimsoll@example.com", to: ["a@example.com", "b@example.com"] },
    notification,
    "https://plimsoll.example",
    { open: parseNetworks(networks)!, timeoutMs },
  );

describe("an e-mail", () => {
  it("reaches every recipient, in plain text and HTML", async () => {
    const { port, mails } = await startMail({ disabledCommands: ["STARTTLS"] });
    const result = await send(`smtp://127.0.0.1:${port}`);
    expect(result).toMatchObject({ outcome: "delivered", status: 250 });
    expect(mails).toMatchObject([{ from: "plimsoll@example.com", to: ["a@example.com", "b@example.com"] }]);
    const { text } = mails[0]!;
    expect(text).toContain("Subject: [Plimsoll] Test: Test of this endpoint");
    expect(text).toContain("Content-Type: text/plain");
    expect(text).toContain("Content-Type: text/html");
    expect(text).toMatch(/Message-ID: <[0-9a-f]{32}@plimsoll\.invalid>/);
    expect(text).toMatch(/References: <[0-9a-f]{32}@plimsoll\.invalid>/);
  });

  it("is not sent where a login would go over the network as it is", async () => {
    const { port, mails } = await startMail({ disabledCommands: ["STARTTLS"] });
    const result = await send(`smtp://user:p%40ss%20word@127.0.0.1:${port}`);
    expect(result.outcome).not.toBe("delivered");
    expect(mails).toEqual([]);
    expect(JSON.stringify(result)).not.toContain("p@ss word");
  });

  it("is not sent to a server whose certificate nobody trusts", async () => {
    const { port, mails } = await startMail();
    expect((await send(`smtp://user:p%40ss%20word@127.0.0.1:${port}`)).outcome).toBe("tls");
    expect(mails).toEqual([]);
  });

  it("keeps the mail server's refusal", async () => {
    const { port } = await startMail({
      disabledCommands: ["STARTTLS"],
      onRcptTo: (_, __, done) => done(Object.assign(new Error("mailbox is full"), { responseCode: 452 })),
    });
    const result = await send(`smtp://127.0.0.1:${port}`);
    expect(result).toMatchObject({ outcome: "smtp", status: 452 });
    expect(result.answer).toContain("mailbox is full");
  });

  it("goes to no private address, and ends in time at a server that says nothing", async () => {
    const { port, mails } = await startMail();
    expect(await send(`smtp://127.0.0.1:${port}`, "192.0.2.255")).toMatchObject({
      outcome: "address_not_allowed",
    });
    expect(mails).toEqual([]);
    const silent = (await import("node:net")).createServer(() => {});
    silent.listen(0, "127.0.0.1");
    await once(silent, "listening");
    const quiet = await send(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`, "loopback", 200);
    expect(quiet).toMatchObject({ outcome: "timeout" });
    await new Promise((done) => silent.close(done));
  });
});
