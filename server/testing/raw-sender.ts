import { once } from "node:events";
import { connect } from "node:net";

/** A sender on a socket of its own, which can leave before the answer. */
export interface RawSender {
  /** Bytes of the body that were sent. */
  bytes: number;
  /** What the server answered so far. */
  answer(): string;
  /** Closes the socket with FIN. Resolves once the server has closed its end as well. */
  close(): Promise<void>;
  /** Closes the socket with RST, like a sender that crashed. */
  reset(): Promise<void>;
}

/**
 * Posts events and does not wait for the answer.
 * @param options.share the part of the body to send, from 0 to 1; 1 by default
 */
export async function sendRaw(
  { port, token }: { port: number; token: string },
  events: unknown,
  { share = 1 }: { share?: number } = {},
): Promise<RawSender> {
  const body = Buffer.from(JSON.stringify(events));
  const sent = body.subarray(0, Math.floor(body.length * share));
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    answer += text;
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(
    `POST /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  socket.write(sent);
  return {
    bytes: sent.length,
    answer: () => answer,
    async close() {
      const closed = once(socket, "close");
      socket.end();
      await closed;
    },
    async reset() {
      const closed = once(socket, "close");
      socket.resetAndDestroy();
      await closed;
    },
  };
}
