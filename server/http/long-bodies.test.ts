import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../testing/until.ts";
import { allowLongBodies, expectLongBody } from "./long-bodies.ts";

const REQUEST_MS = 300;
let server: Server;

beforeAll(async () => {
  server = createServer({ requestTimeout: REQUEST_MS, connectionsCheckingInterval: 50 });
  server.headersTimeout = REQUEST_MS;
  server.on("request", (incoming, outgoing) => {
    if (incoming.url === "/long") expectLongBody(incoming.socket);
    incoming.resume();
    incoming.on("end", () => outgoing.end("done"));
  });
  allowLongBodies(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends the first part, waits, sends the rest, and returns what the server answers. A server may close before the rest. */
async function talk(first: string, waitMs = 0, rest = ""): Promise<string> {
  const socket: Socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  let heard = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    heard += text;
  });
  socket.write(first);
  await Promise.race([sleep(waitMs), once(socket, "close")]);
  if (!socket.destroyed) socket.write(rest);
  await until(() => heard !== "" || socket.destroyed);
  socket.destroy();
  return heard.split("\r\n")[0]!;
}

const head = (path: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na`;

describe("the time limit of a request", () => {
  it("cuts a body that arrives too slowly", async () => {
    expect(await talk(head("/short"))).toBe("HTTP/1.1 408 Request Timeout");
  });

  it("does not hold for a body that was announced as long", async () => {
    // Longer than the limit that does not hold.
    expect(await talk(head("/long"), 2 * REQUEST_MS, "b")).toBe("HTTP/1.1 200 OK");
  });

  it("cuts headers that arrive too slowly", async () => {
    expect(await talk("POST /long HTTP/1.1\r\n")).toBe("HTTP/1.1 408 Request Timeout");
  });
});

it.each([
  ["is no HTTP", "nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request"],
  [
    "has enormous headers",
    `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    "HTTP/1.1 431 Request Header Fields Too Large",
  ],
])("a request that %s is answered and cut", async (_name, text, answer) => {
  expect(await talk(text)).toBe(answer);
});
