import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { dropRestOfBody, type RestLimits } from "./rest-of-body.ts";

const servers: ReturnType<typeof createServer>[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server that refuses each body at once and says in its answer whether all of it arrived. */
async function refusing(limits?: RestLimits) {
  const server = createServer((incoming: IncomingMessage, outgoing) => {
    void dropRestOfBody(incoming, limits).then((all) => {
      outgoing.writeHead(413, all ? {} : { connection: "close" }).end(String(all));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** What the server answers to a body of which only the first `sent` bytes are ever sent. */
function post(port: number, bytes: number, sent = bytes): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      port,
      host: "127.0.0.1",
      method: "POST",
      headers: { "content-length": bytes },
    });
    outgoing.on("response", (incoming) => {
      let text = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      incoming.on("end", () => resolve(`${incoming.statusCode} ${text}`));
    });
    outgoing.on("error", reject);
    outgoing.write(Buffer.alloc(sent));
    if (sent === bytes) outgoing.end();
  });
}

it("answers after the rest of the body has arrived", async () => {
  const port = await refusing();
  for (const bytes of [1, 4 * 1024 * 1024 + 1]) expect(await post(port, bytes)).toBe("413 true");
});

it("answers a sender that stops in the middle", async () => {
  expect(await post(await refusing({ bytes: 1_000_000, ms: 50 }), 10_000, 5_000)).toBe("413 false");
});

it("reads no more than its limit", async () => {
  const port = await refusing({ bytes: 1_000, ms: 60_000 });
  expect(await post(port, 200_000, 150_000)).toBe("413 false");
});
