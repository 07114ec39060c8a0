import { connect, type Socket } from "node:net";

/** Longest wait for one answer, ms: a server that stands still must not hold a run for ever. */
const ANSWER_LIMIT = 60_000;

export interface Answer {
  status: number;
  body: string;
}

/** A whole request as it goes over the wire. */
export function requestBytes(options: { port: number; path: string; key: string; body: string }): Buffer {
  const { port, path, key, body } = options;
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/**
 * One keep-alive connection with one request under way. Far less work than node:http, whose client would take a good
 * part of the machine that is to be measured.
 */
export class Connection {
  readonly #socket: Socket;
  #received = "";
  #done: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => this.#take(text));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("the server closed the connection")));
    socket.setTimeout(ANSWER_LIMIT, () => socket.destroy(new Error("the server does not answer")));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("error", reject);
      socket.once("connect", () => resolve(new Connection(socket)));
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

/** Undefined while there is more to come. */
function parseAnswer(text: string): Answer | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return undefined;
  const status = Number(text.slice(9, 12));
  const body = text.slice(head + 4);
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  if (length !== undefined) return body.length >= Number(length) ? { status, body } : undefined;
  if (!body.endsWith("0\r\n\r\n")) return undefined;
  return { status, body: body.replace(/(^|\r\n)[0-9a-f]+\r\n/gi, "") };
}
