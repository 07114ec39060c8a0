import { expect, it } from "vitest";
import { AnswerParser } from "./http-answers.ts";

const WIRE =
  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" +
  "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n" +
  "HTTP/1.1 204 No Content\r\n\r\n" +
  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" +
  "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
const METHODS = ["GET", "GET", "GET", "HEAD", "POST"];

it.each([1, 2, 7, 1_000])("reads pipelined answers that arrive in pieces of %i bytes", (size) => {
  const parser = new AnswerParser();
  const answers: [number, string, boolean][] = [];
  const bytes = Buffer.from(WIRE);
  for (let at = 0; at < bytes.length; at += size) {
    parser.push(bytes.subarray(at, at + size));
    for (;;) {
      const ended = at + size >= bytes.length;
      const answer = parser.next(METHODS[answers.length] ?? "GET", ended);
      if (answer === undefined) break;
      answers.push([answer.status, answer.body.toString(), answer.closes]);
    }
  }
  expect(answers).toEqual([
    [200, "ok", false],
    [404, "abc0123456789", false],
    [204, "", false],
    [200, "", false],
    [400, "", true],
  ]);
});

it("refuses what is no answer", () => {
  const parser = new AnswerParser();
  parser.push(Buffer.from("SSH-2.0-x\r\n\r\n"));
  expect(() => parser.next("GET")).toThrow("Not an HTTP answer");
});
