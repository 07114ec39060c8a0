import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { timeLimit } from "./time-limit.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

it("ends a request to a server that never answers, whatever is collected meanwhile", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const collecting = setInterval(collect, 10);
  try {
    const answer = fetch(`http://127.0.0.1:${port}/`, {
      signal: timeLimit(200, new AbortController().signal),
    });
    await expect(answer).rejects.toMatchObject({ name: "TimeoutError" });
  } finally {
    clearInterval(collecting);
    server.closeAllConnections();
    server.close();
  }
});

it("ends with the other signal, and with its reason", () => {
  const stop = new AbortController();
  const signal = timeLimit(60_000, stop.signal);
  stop.abort("stopped");
  expect(signal.reason).toBe("stopped");
});
