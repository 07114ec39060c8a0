import type { LiveMessage } from "@plimsoll/protocol/api";
import type { TestServer } from "../testing/server.ts";
import { until } from "../testing/until.ts";

export interface LiveClient {
  messages: LiveMessage[];
  /** Whether the server ended the stream. */
  ended(): boolean;
  /** Resolves when a message names the session; with null, when one says that anything may have changed. */
  hears(session: string | null): Promise<void>;
  close(): void;
}

/** A browser's event source, without its reconnecting: a test wants to see a stream end. */
export async function openLive(
  server: TestServer,
  { key = server.token, query = "" }: { key?: string; query?: string } = {},
): Promise<LiveClient> {
  const abort = new AbortController();
  const response = await fetch(`${server.url}/api/v1/live${query}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: abort.signal,
  });
  if (response.status !== 200 || response.body === null) throw new Error(`live answered ${response.status}`);
  const messages: LiveMessage[] = [];
  let ended = false;
  void (async () => {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      text += decoder.decode(chunk, { stream: true });
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part);
        if (data) messages.push(JSON.parse(data[1]!) as LiveMessage);
      }
    }
  })()
    .catch(() => {})
    .finally(() => {
      ended = true;
    });
  return {
    messages,
    ended: () => ended,
    hears: (session) =>
      until(() =>
        messages.some(
          (message) =>
            message.type === "changed" &&
            (session === null ? message.sessions === null : message.sessions?.includes(session) === true),
        ),
      ),
    close: () => abort.abort(),
  };
}
