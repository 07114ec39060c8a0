/** Who sends an input. `nobody` sends no credentials unless the headers do. */
export const CALLERS = ["ingest", "read", "local", "nobody"] as const;
export type Caller = (typeof CALLERS)[number];

/** One request. It holds no secret, so it can be kept. */
export interface HttpInput {
  as: Caller;
  method: string;
  /** Path and query as they are sent. */
  path: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
}

export type Credentials = Record<Exclude<Caller, "nobody">, string>;

/** The bytes of a request whose body ends where Content-Length says. */
export function requestBytes(input: HttpInput, host: string, credentials: Credentials): Buffer {
  const lines = [`${input.method} ${input.path} HTTP/1.1`];
  const named = new Set(input.headers.map(([name]) => name.toLowerCase()));
  if (!named.has("host")) lines.push(`Host: ${host}`);
  if (input.as !== "nobody" && !named.has("authorization")) {
    lines.push(`Authorization: Bearer ${credentials[input.as]}`);
  }
  for (const [name, value] of input.headers) lines.push(`${name}: ${value}`);
  if (input.body.length > 0 || input.method === "POST") lines.push(`Content-Length: ${input.body.length}`);
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), input.body]);
}

/** What a header value or a path may hold without changing where the request ends. */
export function headerText(text: string): string {
  return Buffer.from(text, "utf8")
    .toString("latin1")
    .replace(/[^\t\x20-\x7e\x80-\xff]/g, "");
}

/** `text` as a path: everything that would end or break the request line is percent-encoded. */
export function pathText(text: string): string {
  return Buffer.from(text, "utf8")
    .toString("latin1")
    .replace(/[^\x21-\x7e]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
}
