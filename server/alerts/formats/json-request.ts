import type { OutgoingRequest } from "../delivery/send-request.ts";

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

/** An address below another one, whose own path and query are kept. */
export function below(url: string, path: string, query: Readonly<Record<string, string>> = {}): string {
  const address = new URL(url);
  address.pathname = `${address.pathname.replace(/\/+$/, "")}${path}`;
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address.href;
}
