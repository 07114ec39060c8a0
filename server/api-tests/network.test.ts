import { copyFileSync, writeFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import type { AuditPage, DoctorReport } from "@plimsoll/protocol/api";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { makeCertificate } from "../../packages/guard/src/testing/certificate.ts";
import {
  ACCESS_TOKEN,
  ask,
  canListen,
  type NetworkServer,
  networkAddress,
  type Sending,
  startNetworkServer,
} from "../testing/network.ts";
import { untilPasses } from "../testing/until.ts";
import { turn, unique } from "./support.ts";

const login = (access_token: string, headers: Record<string, string> = {}): Sending => ({
  body: JSON.stringify({ access_token }),
  headers,
});

describe.skipIf(!canListen)("a server with TLS on a network address", () => {
  let server: NetworkServer;
  beforeAll(async () => {
    server = await startNetworkServer();
  });
  afterAll(() => server?.stop());

  const signIn = async () => {
    const { headers } = await server.ask("/api/v1/login", login(ACCESS_TOKEN));
    return headers["set-cookie"]![0]!.split(";", 1)[0]!;
  };

  it("says where people open it, and puts that address into links", async () => {
    expect(server.output()).toContain(`People open it at ${server.publicUrl}`);
    const { url } = await server.mutate<{ url: string }>("login.create");
    expect(url.startsWith(`${server.publicUrl}/login#`)).toBe(true);
    const token = new URL(url).hash.slice(1);
    expect((await server.ask("/api/v1/login", { body: JSON.stringify({ token }) })).status).toBe(200);
    expect(await server.trpc("instance", {})).toMatchObject({ public_url: server.publicUrl });
  });

  it("has a person sign in with the access token, and keeps the cookie to HTTPS", async () => {
    expect((await server.ask("/api/v1/sign-in")).json).toEqual({
      access_token: true,
      identity_provider: null,
      passkeys: false,
    });
    const { status, headers } = await server.ask("/api/v1/login", login(ACCESS_TOKEN));
    expect(status).toBe(200);
    expect(headers["set-cookie"]![0]).toMatch(
      new RegExp(`^plimsoll_session_${server.port}=.*; HttpOnly; Secure; SameSite=Strict`),
    );
    const cookie = await signIn();
    const page = await server.ask("/api/trpc/keys.list", { headers: { cookie } });
    expect(page.status).toBe(200);
    const { items } = await server.trpc<AuditPage>("audit.list", { action: "login", limit: 1 });
    expect(items[0]).toMatchObject({ detail: "with the access token", actor: { address: networkAddress } });
  });

  it("sends HSTS to other machines, and none to the names of this one", async () => {
    expect((await server.ask("/healthz")).headers["strict-transport-security"]).toBe("max-age=31536000");
    const host = `localhost:${server.port}`;
    const local = await server.ask("/healthz", { headers: { host } });
    expect(local.headers["strict-transport-security"]).toBeUndefined();
    const plain = await server.ask("/healthz", { plain: true });
    expect(plain.headers["strict-transport-security"]).toBeUndefined();
  });

  it("takes events with a key over TLS, and nothing over plain HTTP", async () => {
    const key = await server.createKey("net", ["ingest", "read"]);
    const headers = { authorization: `Bearer ${key}` };
    const body = JSON.stringify([turn(unique("net"), 1_000)]);
    expect((await server.ask("/api/v1/events", { headers, body })).json).toMatchObject({ accepted: 1 });
    for (const [path, sending] of [
      ["/api/v1/events", { headers, body }],
      ["/api/v1/fleet", { headers }],
      ["/metrics", { headers }],
      ["/api/v1/login", login(ACCESS_TOKEN)],
    ] as [string, Sending][]) {
      const { status, json } = await server.ask(path, { ...sending, plain: true });
      expect(status).toBe(400);
      expect(json).toMatchObject({ error: { message: expect.stringContaining(server.publicUrl) } });
    }
  });

  it("sends a browser from plain HTTP to HTTPS, to no other host", async () => {
    const { status, headers } = await server.ask("/sessions?q=a", { plain: true });
    expect(status).toBe(308);
    expect(headers.location).toBe(`${server.publicUrl}/sessions?q=a`);
    expect((await server.ask("//evil.example/x", { plain: true })).headers.location).toBe(
      `${server.publicUrl}//evil.example/x`,
    );
    const foreign = await server.ask("/", { plain: true, headers: { host: "evil.example" } });
    expect(foreign.status).toBe(400);
    expect(foreign.headers.location).toBeUndefined();
  });

  it("answers a probe of its health over plain HTTP", async () => {
    for (const path of ["/healthz", "/readyz"])
      expect((await server.ask(path, { plain: true })).status).toBe(200);
  });

  it("still serves the programs of its own machine over plain HTTP", async () => {
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect((await server.get("/api/v1/fleet")).status).toBe(200);
    await server.expectHealthy();
  });

  it("is not held up by connections that say nothing, or end within a handshake", async () => {
    const silent = Array.from({ length: 50 }, (_, index) => {
      const socket = connectTcp(server.port, networkAddress);
      socket.on("error", () => {});
      if (index % 2 === 0) socket.write(Buffer.from([0x16, 3, 1]));
      if (index % 5 === 0) socket.resetAndDestroy();
      return socket;
    });
    expect((await server.ask("/healthz")).status).toBe(200);
    for (const socket of silent) socket.destroy();
  });
});

describe.skipIf(!canListen)("the certificate of a running server", () => {
  let server: NetworkServer;
  afterEach(() => server?.stop());

  const served = () =>
    new Promise<string>((resolve, reject) => {
      const options = { host: networkAddress, port: server.port, rejectUnauthorized: false };
      const socket = connectTls(options, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.on("error", reject);
    });
  const gauge = async (name: string) =>
    (await server.get("/metrics")).text.match(
      new RegExp(`^plimsoll_tls_certificate_${name} (\\S+)$`, "m"),
    )?.[1];

  it("is replaced without a restart, and a broken one is not used but reported", async () => {
    server = await startNetworkServer();
    const { certFile, keyFile } = server.certificate;
    const before = await served();
    const next = makeCertificate(server.folder, "next", [`IP:${networkAddress}`]);
    copyFileSync(next.certFile, certFile);
    copyFileSync(next.keyFile, keyFile);
    await untilPasses(async () => expect(await served()).not.toBe(before));
    const renewed = await served();
    expect(await gauge("refused")).toBe("0");
    expect(Number(await gauge("expires_timestamp_seconds")) * 1_000).toBeGreaterThan(Date.now());

    writeFileSync(certFile, "this is no certificate");
    await untilPasses(async () => expect(await gauge("refused")).toBe("1"));
    expect(await served()).toBe(renewed);
    const { checks } = await server.trpc<DoctorReport>("doctor");
    expect(checks.find(({ name }) => name === "the TLS certificate can be used")).toMatchObject({
      ok: false,
      message: expect.stringContaining(`${certFile}: it is no PEM`),
    });
    expect(server.output()).toContain("the new TLS certificate cannot be used");
  });
});

describe.skipIf(!canListen)("a server behind a proxy on another machine", () => {
  const BEHIND = { PLIMSOLL_TLS_CERT: "", PLIMSOLL_TLS_KEY: "" };
  let server: NetworkServer;
  afterEach(() => server?.stop());

  it("takes plain HTTP from the proxy, for which HTTPS was used", async () => {
    server = await startNetworkServer({ ...BEHIND, PLIMSOLL_TRUSTED_PROXIES: networkAddress! });
    const forwarded = { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https" };
    const { status, headers } = await server.ask("/api/v1/login", {
      ...login(ACCESS_TOKEN, forwarded),
      plain: true,
    });
    expect(status).toBe(200);
    expect(headers["set-cookie"]![0]).toContain("; Secure");
    const { items } = await server.trpc<AuditPage>("audit.list", { action: "login", limit: 1 });
    expect(items[0]!.actor.address).toBe("203.0.113.7");
    // The public address alone says that a browser used HTTPS.
    const silent = await server.ask("/api/v1/login", { ...login(ACCESS_TOKEN), plain: true });
    expect(silent.headers["set-cookie"]![0]).toContain("; Secure");
  });

  it("takes nothing from another machine that goes around the proxy", async () => {
    server = await startNetworkServer({ ...BEHIND, PLIMSOLL_TRUSTED_PROXIES: "10.99.99.99" });
    const forged = { "x-forwarded-for": "10.99.99.99", "x-forwarded-proto": "https" };
    const { status } = await server.ask("/api/v1/login", { ...login(ACCESS_TOKEN, forged), plain: true });
    expect(status).toBe(400);
    expect((await server.ask("/", { plain: true })).headers.location).toBe(`${server.publicUrl}/`);
    expect((await server.get("/api/v1/fleet")).status).toBe(200);
  });
});

describe.skipIf(!canListen)("a server on every address", () => {
  let server: NetworkServer;
  afterEach(() => server?.stop());

  it.each(["0.0.0.0", "::"])("%s is heard on the network and on loopback", async (PLIMSOLL_LISTEN) => {
    server = await startNetworkServer({ PLIMSOLL_LISTEN });
    expect((await server.ask("/healthz")).status).toBe(200);
    expect((await server.get("/api/v1/fleet")).status).toBe(200);
    const loopback = { address: "127.0.0.1", port: server.port, ca: server.certificate.cert };
    expect((await ask(loopback, "/healthz", { plain: true })).status).toBe(200);
  });
});
