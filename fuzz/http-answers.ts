/** An answer as it came over the wire. */
export interface HttpAnswer {
  status: number;
  /** Names in lower case. */
  headers: ReadonlyMap<string, string>;
  body: Buffer;
  /** The server closes the connection after this answer. */
  closes: boolean;
}

/**
 * Splits the bytes of one connection into answers. Knows what Node's server writes: Content-Length, chunks, or the end of
 * the connection.
 */
export class AnswerParser {
  #bytes: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
  }

  /**
   * The next whole answer; undefined until it is there.
   * @param method of the request, because an answer to HEAD has no body
   * @param ended whether the server has closed its side
   */
  next(method: string, ended = false): HttpAnswer | undefined {
    const headEnd = this.#bytes.indexOf("\r\n\r\n");
    if (headEnd < 0) return undefined;
    const [first = "", ...lines] = this.#bytes.toString("latin1", 0, headEnd).split("\r\n");
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1]);
    if (!status) throw new Error(`Not an HTTP answer: ${JSON.stringify(first.slice(0, 100))}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(":");
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const rest = this.#bytes.subarray(headEnd + 4);
    const found = bodyOf(status, headers, method, rest, ended);
    if (found === undefined) return undefined;
    this.#bytes = rest.subarray(found.size);
    // 100 Continue and its like come before the answer.
    if (status < 200) return this.next(method, ended);
    return {
      status,
      headers,
      body: found.body,
      closes: headers.get("connection")?.toLowerCase() === "close",
    };
  }
}

function bodyOf(
  status: number,
  headers: ReadonlyMap<string, string>,
  method: string,
  rest: Buffer,
  ended: boolean,
): { body: Buffer; size: number } | undefined {
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) {
    return { body: Buffer.alloc(0), size: 0 };
  }
  if (headers.get("transfer-encoding")?.toLowerCase() === "chunked") return chunksOf(rest);
  const length = headers.get("content-length");
  if (length !== undefined) {
    const size = Number(length);
    return rest.length < size ? undefined : { body: rest.subarray(0, size), size };
  }
  if (headers.get("connection")?.toLowerCase() === "close" && !ended) return undefined;
  return { body: rest, size: rest.length };
}

function chunksOf(bytes: Buffer): { body: Buffer; size: number } | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (bytes.length < end + 2) return undefined;
    if (size === 0) return { body: Buffer.concat(parts), size: end + 2 };
    parts.push(bytes.subarray(lineEnd + 2, end));
    at = end + 2;
  }
}
