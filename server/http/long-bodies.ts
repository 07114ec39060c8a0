import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

const expected = new WeakSet<Duplex>();

/** Lets the body of the request on this connection arrive for longer than the server's limit. Call it once the sender is known. */
export function expectLongBody(socket: Socket): void {
  expected.add(socket);
}

const TEXTS: Record<string, string> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "413 Payload Too Large",
};

/** Answers broken requests as Node does by itself, but leaves a connection alone whose body may be late. */
export function allowLongBodies(server: Server): void {
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && expected.has(socket)) return;
    const answering = (socket as Duplex & { _httpMessage?: { headersSent: boolean } })._httpMessage;
    if (socket.writable && answering?.headersSent !== true) {
      const text = TEXTS[error.code ?? ""] ?? "400 Bad Request";
      socket.write(`HTTP/1.1 ${text}\r\nConnection: close\r\n\r\n`);
    }
    socket.destroy(error);
  });
}
