import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy {
  url: string;
  port: number;
  /** What it was asked to reach, such as `plimsoll.example:443`. */
  asked: string[];
  close(): Promise<void>;
}

/**
 * A proxy that opens tunnels for HTTPS. It resolves every name to loopback, as a proxy that knows names of its own network.
 * @param options `login`: what it wants, as `user:password`. `status`: its answer to all
 */
export async function startConnectProxy(
  options: { login?: string; status?: number } = {},
): Promise<ConnectProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => response.writeHead(400).end());
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  server.on("connect", ({ url = "", headers }, socket) => {
    asked.push(url);
    const login = `Basic ${Buffer.from(options.login ?? "").toString("base64")}`;
    const isKnown = options.login === undefined || headers["proxy-authorization"] === login;
    const status = options.status ?? (isKnown ? 200 : 407);
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n`);
      return;
    }
    const target = connect(Number(url.split(":").at(-1)), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.pipe(socket).pipe(target);
    });
    target.on("error", () => socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${options.login === undefined ? "" : `${options.login}@`}127.0.0.1:${port}`,
    port,
    asked,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
