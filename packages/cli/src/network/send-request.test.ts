import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { sendRequest } from "./send-request.ts";

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function serve(delayMs: number): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    await sleep(delayMs);
    response.writeHead(503, { "content-type": "application/json", "retry-after": "7" });
    response.end(
      JSON.stringify({
        method: request.method,
        key: request.headers["x-key"],
        body: String(Buffer.concat(chunks)),
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(
    () => void server.closeAllConnections(),
    () => void server.close(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/path?input=1`;
}

it("sends the request and returns the answer as fetch does", async () => {
  const response = await sendRequest(await serve(10), {
    method: "POST",
    headers: { "x-key": "k" },
    body: "text",
  });
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("7");
  expect(await response.json()).toEqual({ method: "POST", key: "k", body: "text" });
});

it("gives up when the signal is given, with its reason", async () => {
  const error = await sendRequest(await serve(5_000), { signal: AbortSignal.timeout(50) }).catch((e) => e);
  expect(error).toMatchObject({ name: "TimeoutError" });
});

it("rejects when nothing listens there", async () => {
  await expect(sendRequest("http://127.0.0.1:1/")).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

it.each([600, 999])("rejects an answer with the status %i, which does not exist", async (status) => {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(`HTTP/1.1 ${status} Odd\r\nContent-Length: 0\r\n\r\n`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await expect(sendRequest(url)).rejects.toThrow(`The answer has the HTTP status ${status}`);
});
