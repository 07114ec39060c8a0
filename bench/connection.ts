import { connect, type Socket } from "node:net";

/** Longest wait for one answer, ms, so that a server that hangs does not hold a run for ever. */
const ANSWER_LIMIT = 60_000;

export interface Answer {
  status: number;
  body: string;
  /** Seconds in `Retry-After`; undefined without one. */
  retryAfter: number | undefined;
}

/** A complete POST request. A body of bytes is protobuf, a text is JSON. `prefer` is the value of the `Prefer` header. */
export function requestBytes(options: {
  port: number;
  path: string;
  key: string;
  body: string | Buffer;
  prefer?: string;
}): Buffer {
  const { port, path, key, body, prefer } = options;
  const preference = prefer === undefined ? "" : `Prefer: ${prefer}\r\n`;
  const type = typeof body === "string" ? "application/json" : "application/x-protobuf";
  const bytes = Buffer.from(body);
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n${preference}` +
    `Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

/**
 * A keep-alive connection with one request at a time. It needs far less CPU than node:http, which would take much of
 * the machine that is measured.
 */
export class LoadConnection {
  readonly #socket: Socket;
  #received = "";
  #done: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket, limit: number) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#take(text));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The server closed the connection.")));
    socket.setTimeout(limit, () => {
      // Without a request under way, the connection is only idle.
      if (this.#done !== undefined) socket.destroy(new Error(`The server did not answer in ${limit} ms.`));
    });
  }

  /** `limit` is the longest wait for an answer in ms; after that the socket is closed. */
  static open(port: number, limit = ANSWER_LIMIT): Promise<LoadConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("error", reject);
      socket.once("connect", () => resolve(new LoadConnection(socket, limit)));
    });
  }

  send(request: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#done = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#done = undefined;
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received = this.#received === "" ? text : this.#received + text;
    const answer = parseAnswer(this.#received);
    if (answer === undefined) return;
    this.#received = "";
    const done = this.#done;
    this.#done = undefined;
    done?.resolve(answer);
  }

  #fail(error: Error): void {
    this.#done?.reject(error);
    this.#done = undefined;
  }
}

/** Undefined if the answer is incomplete. */
function parseAnswer(text: string): Answer | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const status = Number(text.slice(9, 12));
  const seconds = status === 200 ? undefined : /\r\nretry-after: (\d+)/i.exec(text)?.[1];
  const retryAfter = seconds === undefined ? undefined : Number(seconds);
  const body = text.slice(head + 4);
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  if (length !== undefined) {
    return body.length >= Number(length) ? { status, body, retryAfter } : undefined;
  }
  if (!body.endsWith("0\r\n\r\n")) return undefined;
  return { status, body: body.replace(/(^|\r\n)[0-9a-f]+\r\n/gi, ""), retryAfter };
}
