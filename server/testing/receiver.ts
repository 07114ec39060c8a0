import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";

/** A request that a receiver got. */
export interface ReceivedMessage {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface Receiver {
  url: string;
  port: number;
  /** In the order of arrival. */
  requests: ReceivedMessage[];
  /** Answers the requests from now on. */
  answer(how: ReceiverAnswer): void;
  close(): Promise<void>;
}

export type ReceiverAnswer = (request: ReceivedMessage, response: ServerResponse) => unknown;

/** A real server on loopback that keeps what it gets. It answers 200 unless it is told otherwise. */
export async function startReceiver(tls?: ServerOptions): Promise<Receiver> {
  const requests: ReceivedMessage[] = [];
  let how: ReceiverAnswer = (_, response) => response.end("ok");
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = incoming;
    const request = { method, path, headers, body: Buffer.concat(chunks).toString("utf8") };
    requests.push(request);
    await how(request, response);
  };
  const listener = (incoming: IncomingMessage, response: ServerResponse) => {
    // The sender may have gone.
    handle(incoming, response).catch(() => response.destroy());
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    requests,
    answer(next) {
      how = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
