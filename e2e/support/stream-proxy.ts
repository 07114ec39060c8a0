import { createServer, request } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface StreamProxy {
  url: string;
  /** Passes nothing on any more for live streams, and closes nothing, as a proxy that buffers. Everything else works. */
  cutStreams(): void;
  /** Ends the streams that were cut and passes on new ones. */
  restore(): void;
  stop(): Promise<void>;
}

/** An HTTP proxy in front of a Plimsoll server. */
export async function startStreamProxy(upstreamPort: number): Promise<StreamProxy> {
  let cut = false;
  const streams = new Set<Socket>();
  const upstream = `127.0.0.1:${upstreamPort}`;
  const server = createServer((incoming, outgoing) => {
    const isStream = incoming.url?.startsWith("/api/v1/live") === true;
    const { origin } = incoming.headers;
    const headers = { ...incoming.headers, host: upstream, ...(origin && { origin: `http://${upstream}` }) };
    const onward = request(
      { host: "127.0.0.1", port: upstreamPort, path: incoming.url, method: incoming.method, headers },
      (answer) => {
        if (isStream) {
          streams.add(incoming.socket);
          if (cut) return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on("data", (chunk) => (isStream && cut) || outgoing.write(chunk));
        answer.on("end", () => outgoing.end());
        answer.on("error", () => outgoing.destroy());
      },
    );
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => {
      streams.delete(incoming.socket);
      onward.destroy();
    });
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutStreams() {
      cut = true;
    },
    restore() {
      cut = false;
      for (const socket of streams) socket.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
