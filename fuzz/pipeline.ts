import { connect, type Socket } from "node:net";
import { AnswerParser, type HttpAnswer } from "./http-answers.ts";

/** Why there is no answer: the connection closed first, or nothing came in time. */
export type Missing = "closed" | "no_answer";

interface Waiting {
  method: string;
  bytes: Buffer;
  /** Times it was sent. */
  sent: number;
  resolve: (answer: HttpAnswer | Missing) => void;
}

/** Milliseconds after which an unanswered request counts as lost. */
const ANSWER_LIMIT = 60_000;

/**
 * One keep-alive connection with several requests under way. If the server closes it, the requests behind the answered
 * ones are sent again on a new connection.
 */
export class Pipeline {
  readonly #port: number;
  #socket: Socket | undefined;
  #parser = new AnswerParser();
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Requests that were sent more than once: the server may have handled them more than once. */
  resent = 0;

  constructor(port: number) {
    this.#port = port;
  }

  get underWay(): number {
    return this.#waiting.length;
  }

  send(method: string, bytes: Buffer): Promise<HttpAnswer | Missing> {
    return new Promise((resolve) => {
      const waiting = { method, bytes, sent: 1, resolve };
      this.#waiting.push(waiting);
      this.#open().write(bytes);
      this.#watch();
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#socket?.removeAllListeners();
    this.#socket?.destroy();
    this.#socket = undefined;
    for (const { resolve } of this.#waiting.splice(0)) resolve("closed");
  }

  #open(): Socket {
    if (this.#socket !== undefined) return this.#socket;
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    this.#parser = new AnswerParser();
    socket.on("data", (chunk) => {
      this.#parser.push(chunk);
      this.#settle(socket, false);
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#socket !== socket) return;
      this.#settle(socket, true);
      if (this.#socket === socket) this.#restart(false);
    });
    this.#socket = socket;
    return socket;
  }

  #settle(socket: Socket, ended: boolean): void {
    while (this.#socket === socket && this.#waiting.length > 0) {
      const answer = this.#parser.next(this.#waiting[0]!.method, ended);
      if (answer === undefined) return;
      this.#waiting.shift()!.resolve(answer);
      this.#watch();
      if (answer.closes) this.#restart(true);
    }
  }

  /** Sends what is unanswered again. The first of them may be what broke the connection, so it goes at most twice. */
  #restart(orderly: boolean): void {
    this.#socket?.removeAllListeners("close");
    this.#socket?.destroy();
    this.#socket = undefined;
    const [first] = this.#waiting;
    if (!orderly && first !== undefined && first.sent > 1) {
      this.#waiting.shift();
      first.resolve("closed");
    }
    if (this.#waiting.length === 0) return;
    const socket = this.#open();
    for (const [index, waiting] of this.#waiting.entries()) {
      this.resent += 1;
      if (index === 0 && !orderly) waiting.sent += 1;
      socket.write(waiting.bytes);
    }
  }

  #watch(): void {
    clearTimeout(this.#timer);
    if (this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => {
      this.#waiting.shift()?.resolve("no_answer");
      this.#restart(true);
      this.#watch();
    }, ANSWER_LIMIT);
  }
}
