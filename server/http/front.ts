import { createServer as createHttp, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer as createTcp, type Socket, type Server as TcpServer } from "node:net";
import type { TLSSocket } from "node:tls";
import type { WatchedCertificate } from "../certificate.ts";
import { isLoopbackAddress, isWithin } from "../networks.ts";
import type { TrustedProxies } from "../tenants/access/client-address.ts";

/** Milliseconds for the first byte of a connection, and for its TLS handshake. */
const HANDSHAKE_MS = 10_000;
/** The first byte of every TLS connection, which begins no HTTP request. */
const TLS_BYTE = 0x16;

export interface HttpLimits {
  keepAliveTimeout: number;
  requestTimeout: number;
  noDelay: boolean;
}

export interface Front {
  server: Server;
  /** Closes every connection, also those that have not said yet what they speak. */
  cut(): void;
}

/**
 * The HTTP server. With a certificate, it speaks TLS and plain HTTP on one port, because programs of this machine know no name
 * that a certificate could hold.
 */
export function createFront(limits: HttpLimits, certificate: WatchedCertificate | undefined): Front {
  if (certificate === undefined) {
    const server = createHttp(limits);
    return { server, cut: () => server.closeAllConnections() };
  }
  const server = createHttps({ ...limits, ...certificate.pair(), handshakeTimeout: HANDSHAKE_MS });
  const sockets = new Set<Socket>();
  certificate.onChange((pair) => server.setSecureContext(pair));
  const [speakTls] = server.listeners("connection") as ((this: TcpServer, socket: Socket) => void)[];
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    // Both events lead to the HTTP parser; the first after a handshake.
    const speak = (isTls: boolean) =>
      isTls ? speakTls!.call(server, socket) : server.emit("secureConnection", socket);
    socket.setTimeout(HANDSHAKE_MS, () => socket.destroy());
    socket.once("error", () => socket.destroy());
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.once("data", (chunk: Buffer) => {
      socket.pause();
      socket.setTimeout(0);
      socket.removeAllListeners("timeout");
      socket.unshift(chunk);
      speak(chunk[0] === TLS_BYTE);
      process.nextTick(() => socket.resume());
    });
  });
  return {
    server,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A server of one address of this machine does not hear loopback, where the command line and the demo look for it. */
export function alsoOnLoopback(server: Server): TcpServer {
  const loopback = createTcp({ noDelay: true }, (socket) => server.emit("connection", socket));
  loopback.maxConnections = 200;
  return loopback;
}

/** How a request came here. `open`: over a network, without TLS. */
export type Transport = "tls" | "local" | "proxy" | "open";

export function transportOf(socket: Socket, proxies: TrustedProxies): Transport {
  if ((socket as TLSSocket).encrypted === true) return "tls";
  const { remoteAddress = "" } = socket;
  if (isLoopbackAddress(remoteAddress)) return "local";
  return isWithin(remoteAddress.replace(/^::ffff:(?=\d+\.)/, ""), proxies) ? "proxy" : "open";
}
