import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../testing/server.ts";
import { until } from "../../testing/until.ts";
import { turn, unique } from "../support.ts";

const PRLIMIT = "/usr/bin/prlimit";

let server: TestServer;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.expectHealthy();
  await server.stop();
});

function open(text: string): Socket {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  sockets.push(socket);
  return socket;
}

it.skipIf(!existsSync(PRLIMIT))("idle connections in the thousands take no place from others", async () => {
  server = await startTestServer({ under: [PRLIMIT, "--nofile=400"] });
  for (let n = 0; n < 2_000; n++) open("");
  const session = unique("session");
  for (let n = 0; n < 20; n++) {
    // A connection of its own, and again if it is the one that finds no place.
    await until(async () => {
      const answer = await server
        .request("/api/v1/events", {
          method: "POST",
          headers: { "content-type": "application/json", connection: "close" },
          body: JSON.stringify([turn(session, 1_000)]),
        })
        .catch(() => undefined);
      return answer?.status === 200;
    });
  }
  expect(server.output().match(/too many connections at once/g)).toHaveLength(1);
});

it("requests that never end are cut, and a stop does not wait for them", async () => {
  server = await startTestServer({});
  const host = `Host: 127.0.0.1:${server.port}\r\n`;
  for (let n = 0; n < 50; n++) {
    open("");
    open("GET /healthz HTTP/1.1\r\n");
    open(
      `POST /api/v1/events HTTP/1.1\r\n${host}Authorization: Bearer ${server.token}\r\nContent-Length: 1000\r\n\r\n{`,
    );
    open(`GET /api/v1/live HTTP/1.1\r\n${host}Authorization: Bearer ${server.token}\r\n\r\n`).pause();
  }
  expect((await server.get("/healthz")).status).toBe(200);
  await server.expectHealthy();
  expect(await server.stop()).toBe(0);
  server = await startTestServer({});
});
