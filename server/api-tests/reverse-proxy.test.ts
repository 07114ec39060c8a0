import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as plainRequest,
} from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../root.ts";
import { freePort, hasNginx, type RunningProxy, runNginx, whenListening } from "../testing/nginx.ts";
import { startTestServer, type TestServer } from "../testing/server.ts";
import { untilPasses } from "../testing/until.ts";
import { makeKey, turn, unique } from "./support.ts";

const NAME = "plimsoll.example.com";
const CADDY = "/usr/bin/caddy";
const FORGED = {
  "x-forwarded-for": "203.0.113.7",
  "x-forwarded-proto": "http",
  "x-forwarded-host": "evil.example",
  "x-real-ip": "203.0.113.7",
  forwarded: "for=203.0.113.7;proto=http",
};

const hasOpenssl = (() => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** The code blocks of the documentation: what a reader copies is what runs here. */
function documented(language: string): string[] {
  const text = readFileSync(join(projectRoot(), "docs/reverse-proxy.md"), "utf8");
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, block]) => block!,
  );
}

interface Ports {
  http: number;
  https: number;
}

interface Site extends Ports, RunningProxy {}

let folder: string;
let certificate: string;
let server: TestServer;

beforeAll(async () => {
  if (!hasOpenssl) return;
  folder = mkdtempSync(join(tmpdir(), "plimsoll-proxy-"));
  execFileSync(
    "openssl",
    [
      ...[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ],
      ...["-subj", `/CN=${NAME}`, "-addext", `subjectAltName=DNS:${NAME}`],
      ...["-keyout", join(folder, "key.pem"), "-out", join(folder, "fullchain.pem")],
    ],
    { stdio: "ignore" },
  );
  certificate = readFileSync(join(folder, "fullchain.pem"), "utf8");
  server = await startTestServer({
    env: { PLIMSOLL_PUBLIC_URL: `https://${NAME}`, PLIMSOLL_TRUSTED_PROXIES: "loopback" },
  });
});
afterAll(async () => {
  await server?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

async function nginxSite(upstream: number, withLogin = false): Promise<Site> {
  const ports = { http: await freePort(), https: await freePort() };
  const [site, login, maps] = documented("nginx") as [string, string, string];
  let config = site;
  if (withLogin) config = maps + config.replace("  location / {", `${login}\n  location / {`);
  config = config
    .replace("127.0.0.1:4180", `127.0.0.1:${upstream}`)
    .replace("listen 80;", `listen 127.0.0.1:${ports.http};`)
    .replace("listen 443 ssl;", `listen 127.0.0.1:${ports.https} ssl;`)
    .replaceAll("/etc/ssl/plimsoll/", `${folder}/`)
    .replace("/etc/nginx/plimsoll.htpasswd", join(folder, "htpasswd"));
  return { ...ports, ...(await runNginx(config, ports.https)) };
}

async function caddySite(upstream: number): Promise<Site> {
  const ports = { http: await freePort(), https: await freePort() };
  const home = mkdtempSync(join(folder, "caddy-"));
  const config = documented("caddyfile")[0]!
    .replace("127.0.0.1:4180", `127.0.0.1:${upstream}`)
    .replaceAll("/etc/ssl/plimsoll/", `${folder}/`);
  const file = join(home, "Caddyfile");
  writeFileSync(
    file,
    `{\n\thttp_port ${ports.http}\n\thttps_port ${ports.https}\n\tadmin off\n\tgrace_period 1s\n}\n${config}`,
  );
  const child = spawn(CADDY, ["run", "--config", file, "--adapter", "caddyfile"], {
    env: { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return { ...ports, ...(await whenListening(child, [ports.https, ports.http], async () => {})) };
}

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** Asks through the proxy by name, over TLS that is checked. */
function open(
  { https }: Ports,
  path: string,
  { method, headers, body }: Sent = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port: https,
      path,
      method: method ?? (body === undefined ? "GET" : "POST"),
      servername: NAME,
      ca: certificate,
      headers: { host: NAME, ...headers },
      agent: false,
    });
    outgoing.once("response", resolve).once("error", reject);
    outgoing.end(body);
  });
}

async function ask(site: Ports, path: string, sent: Sent = {}) {
  const incoming = await open(site, path, sent);
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += chunk;
  return { status: incoming.statusCode, headers: incoming.headers, text };
}

async function liveClients(): Promise<number> {
  const { text } = await server.get("/metrics");
  return Number(/^plimsoll_live_clients (\d+)$/m.exec(text)?.[1]);
}

const proxies: [name: string, found: boolean, start: (upstream: number) => Promise<Site>][] = [
  ["nginx", hasNginx && hasOpenssl, nginxSite],
  ["Caddy", existsSync(CADDY) && hasOpenssl, caddySite],
];

for (const [name, found, start] of proxies) {
  describe.skipIf(!found)(`behind ${name} as documented`, () => {
    let site: Site;
    beforeAll(async () => {
      site = await start(server.port);
    });
    afterAll(async () => {
      await site?.stop();
    });

    it("HTTP is redirected to HTTPS", async () => {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        plainRequest({ host: "127.0.0.1", port: site.http, path: "/sessions?x=1", headers: { host: NAME } })
          .once("response", resolve)
          .once("error", reject)
          .end();
      });
      answer.resume();
      expect([301, 308]).toContain(answer.statusCode);
      expect(answer.headers.location).toBe(`https://${NAME}/sessions?x=1`);
    });

    it("a login over HTTPS sets a Secure cookie that lets the browser in, and HSTS is sent", async () => {
      const { url } = await server.mutate<{ url: string }>("login.create");
      const answer = await ask(site, "/api/v1/login", {
        headers: {
          "content-type": "application/json",
          origin: `https://${NAME}`,
          "sec-fetch-site": "same-origin",
        },
        body: JSON.stringify({ token: url.split("#")[1] }),
      });
      expect(answer).toMatchObject({ status: 200 });
      expect(answer.headers["strict-transport-security"]).toMatch(/^max-age=31536000/);
      const [cookie = ""] = answer.headers["set-cookie"] ?? [];
      expect(cookie).toMatch(/; *Secure/i);
      expect(cookie).toMatch(/; *HttpOnly/i);
      const headers = { cookie: cookie.split(";", 1)[0]!, "sec-fetch-site": "same-origin" };
      expect(await ask(site, "/api/v1/fleet", { headers })).toMatchObject({ status: 200 });
      expect(await ask(site, "/api/v1/fleet")).toMatchObject({ status: 401 });
    });

    it("the live stream arrives message by message", async () => {
      const { secret } = await makeKey(server, "read", "ingest");
      const authorization = `Bearer ${secret}`;
      const stream = await open(site, "/api/v1/live", {
        headers: { authorization, "accept-encoding": "gzip, br" },
      });
      let text = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      stream.on("error", () => {});
      await untilPasses(() => expect(text).toContain('"changed"'));
      const before = text.length;
      const event = turn(unique("proxied"), 1_000);
      const sent = await ask(site, "/api/v1/events", {
        headers: { authorization, "content-type": "application/json" },
        body: JSON.stringify([event]),
      });
      expect(sent).toMatchObject({ status: 200 });
      await untilPasses(() => expect(text.length).toBeGreaterThan(before));
      expect(await liveClients()).toBe(1);
      stream.destroy();
      // A proxy that does not pass this on would use up the streams that the server has.
      await untilPasses(async () => expect(await liveClients()).toBe(0));
    });

    it("a body over the limit is refused by the proxy or the server", async () => {
      const { secret } = await makeKey(server, "ingest");
      const answer = await ask(site, "/api/v1/events", {
        headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
        body: Buffer.alloc(4 * 1024 * 1024 + 1, " "),
      }).catch((error: NodeJS.ErrnoException) => ({ status: error.code }));
      // The connection may close while the rest of the body is under way.
      expect([413, "EPIPE", "ECONNRESET"]).toContain(answer.status);
    });

    it("what the client says about its address is not passed on", async () => {
      const seen: IncomingHttpHeaders[] = [];
      const echo = createServer((incoming, outgoing) => {
        seen.push(incoming.headers);
        outgoing.end("seen");
      });
      await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
      const other = await start((echo.address() as AddressInfo).port);
      try {
        expect(await ask(other, "/", { headers: FORGED })).toMatchObject({ status: 200, text: "seen" });
        expect(seen[0]).toMatchObject({
          host: NAME,
          "x-forwarded-for": "127.0.0.1",
          "x-forwarded-proto": "https",
        });
        expect(JSON.stringify(seen[0])).not.toMatch(/203\.0\.113\.7|evil/);
      } finally {
        await other.stop();
        echo.close();
      }
    });
  });
}

describe.skipIf(!hasNginx || !hasOpenssl)("the documented login of nginx", () => {
  it("is asked of browsers, and not of programs with a key", async () => {
    const hash = execFileSync("openssl", ["passwd", "-apr1", "secret"], { encoding: "utf8" }).trim();
    writeFileSync(join(folder, "htpasswd"), `owner:${hash}\n`, { mode: 0o644 });
    const site = await nginxSite(server.port, true);
    try {
      const basic = `Basic ${Buffer.from("owner:secret").toString("base64")}`;
      const { secret } = await makeKey(server, "read");
      const status = async (path: string, authorization?: string) =>
        (await ask(site, path, { headers: authorization === undefined ? {} : { authorization } })).status;
      expect(await status("/healthz")).toBe(401);
      expect(await status("/healthz", basic)).toBe(200);
      expect(await status("/healthz", `Bearer ${secret}`)).toBe(401);
      expect(await status("/api/v1/fleet", `Bearer ${secret}`)).toBe(200);
      const { headers, text } = await ask(site, "/api/v1/fleet", { headers: { authorization: basic } });
      expect(headers["www-authenticate"]).toBe("Bearer");
      expect(text).toContain("Send a key");
    } finally {
      await site.stop();
    }
  });
});
