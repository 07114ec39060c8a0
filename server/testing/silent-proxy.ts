import { connect, createServer, type Socket } from "node:net";

export interface SilentProxy {
  /** The database URL through the proxy. */
  url: string;
  /** Stops passing bytes on, in both directions, without closing anything: as a network that was cut. */
  silence(): void;
  /** Passes bytes on again. Those that came meanwhile are lost, so old connections stay broken. */
  resume(): void;
  stop(): Promise<void>;
}

/** A TCP proxy in front of a PostgreSQL that can fall silent. For tests. */
export async function silentProxy(databaseUrl: string): Promise<SilentProxy> {
  const target = new URL(databaseUrl);
  const folder = target.searchParams.get("host");
  const port = Number(target.port || 5432);
  const sockets = new Set<Socket>();
  let silent = false;
  const server = createServer((near) => {
    const far = folder?.startsWith("/")
      ? connect(`${folder}/.s.PGSQL.${port}`)
      : connect(port, target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("data", (chunk) => silent || to.write(chunk));
      from.on("close", () => {
        sockets.delete(from);
        if (!silent) to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const through = new URL(databaseUrl);
  through.searchParams.delete("host");
  through.hostname = "127.0.0.1";
  through.port = String((server.address() as { port: number }).port);
  return {
    url: through.href,
    silence() {
      silent = true;
    },
    resume() {
      silent = false;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
