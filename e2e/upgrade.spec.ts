import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, test } from "./fixtures.ts";
import type { PlimsollServer } from "./support/server.ts";

test.use({ lines: false, expectedErrors: [/^WebSocket connection to/] });

/** Sends a request that offers an upgrade, and keeps the connection open. */
function offer(
  server: PlimsollServer,
  path: string,
  headers: string[],
): { socket: Socket; answer: Promise<string> } {
  const socket = connect(server.port, "127.0.0.1");
  const answer = new Promise<string>((resolve) => {
    socket.once("data", (data) => resolve(String(data).split("\r\n", 1)[0]!));
    socket.once("close", () => resolve("closed"));
    socket.once("error", () => resolve("closed"));
    setTimeout(() => resolve("no answer"), 5_000).unref();
  });
  const host = headers.some((header) => header.startsWith("Host:")) ? [] : [`Host: 127.0.0.1:${server.port}`];
  socket.write(`GET ${path} HTTP/1.1\r\n${[...host, ...headers].join("\r\n")}\r\n\r\n`);
  return { socket, answer };
}

const H2C = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];
const WEB_SOCKET = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

test("requests that offer an upgrade are answered like others, and never leak", async ({ page, server }) => {
  // The page server is in use from here on.
  await page.goto("/");
  await expect(page.getByRole("heading").first()).toBeVisible();

  const ask = async (path: string, headers: string[]) => {
    const { socket, answer } = offer(server, path, headers);
    const line = await answer;
    socket.destroy();
    return line;
  };
  expect(await ask("/healthz", H2C)).toBe("HTTP/1.1 200 OK");
  expect(await ask("/login", H2C)).toBe("HTTP/1.1 200 OK");
  expect(await ask("/sessions", WEB_SOCKET)).toBe("HTTP/1.1 302 Found");
  expect(await ask("/_next/webpack-hmr", WEB_SOCKET)).toMatch(/^HTTP\/1.1 (404|308)/);
  expect(await ask("/healthz", ["Host: elsewhere.example", ...WEB_SOCKET])).toBe("HTTP/1.1 400 Bad Request");
  expect(await ask("/login", ["Host: elsewhere.example", ...WEB_SOCKET])).toBe("HTTP/1.1 400 Bad Request");

  const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const before = descriptors();
  // A page of another site may open web sockets to this server, whatever it answers.
  await page
    .evaluate(async (url) => {
      await Promise.all(
        Array.from({ length: 50 }, () => {
          const socket = new WebSocket(`${url.replace("http", "ws")}/_next/webpack-hmr`);
          return new Promise((resolve) => {
            socket.onclose = resolve;
          });
        }),
      ).catch(() => {});
    }, server.url)
    .catch(() => {});
  await expect.poll(descriptors).toBeLessThan(before + 10);
});

test("a stop ends within 15 s, whatever connections are open", { tag: "@own-server" }, async ({
  page,
  server,
}) => {
  await page.goto("/");
  const sockets = [
    ...Array.from({ length: 20 }, () => offer(server, "/_next/webpack-hmr", WEB_SOCKET)),
    ...Array.from({ length: 20 }, () => offer(server, "/login", H2C)),
  ];
  await Promise.all(sockets.map(({ answer }) => answer));
  // A request whose body never ends, and one that is not even begun.
  const half = connect(server.port, "127.0.0.1");
  half.write(`POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Length: 100\r\n\r\n{`);
  const silent = connect(server.port, "127.0.0.1");
  for (const socket of [half, silent]) socket.on("error", () => {});
  await page.goto("about:blank");
  const start = Date.now();
  await server.end();
  expect(Date.now() - start).toBeLessThan(15_000);
  for (const { socket } of sockets) socket.destroy();
  half.destroy();
  silent.destroy();
  await server.begin();
});
