import type { OutgoingRequest } from "../send-request.ts";

/** A POST of JSON. */
export const jsonRequest = (
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): OutgoingRequest => ({
  method: "POST",
  url,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** An address below another one, whose own path is kept. */
export const below = (url: string, path: string): string => `${url.replace(/\/+$/, "")}${path}`;
