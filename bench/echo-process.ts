// The least a Node server can do with a request: read it and answer.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const ANSWER = '{"accepted":1,"rejected":[]}';

const server = createServer({ noDelay: true }, (incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString());
    outgoing.writeHead(200, { "Content-Type": "application/json", "Content-Length": ANSWER.length });
    outgoing.end(ANSWER);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit(0));
