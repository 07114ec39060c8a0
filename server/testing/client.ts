import { type CreatedKey, type DoctorReport, PROJECT_HEADER, type Scope } from "@plimsoll/protocol/api";
import type { IngestAnswer } from "@plimsoll/protocol/events";

export interface HttpAnswer<T = unknown> {
  status: number;
  headers: Headers;
  text: string;
  /** The body parsed as JSON; undefined if it is not JSON. */
  body: T;
}

export type TestClient = ReturnType<typeof createClient>;

/**
 * Calls a server's HTTP API. Every call sends the local token, unless a key is given.
 * @param url such as http://127.0.0.1:4180
 * @param token the content of the file local-token
 * @param project id of the project that every call names; absent for none
 */
export function createClient(url: string, token: string, project?: number) {
  async function request<T = unknown>(
    path: string,
    init: RequestInit & { duplex?: "half" } = {},
  ): Promise<HttpAnswer<T>> {
    const headers = new Headers(init.headers);
    if (project !== undefined) headers.set(PROJECT_HEADER, String(project));
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
    // An empty value sends the request without credentials.
    if (headers.get("authorization") === "") headers.delete("authorization");
    const response = await fetch(url + path, { ...init, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parseJson(text) as T };
  }

  async function call<T>(path: string, init: RequestInit): Promise<T> {
    const { status, body, text } = await request<{ result?: { data: T } }>(`/api/trpc/${path}`, init);
    if (status !== 200 || body?.result === undefined)
      throw new Error(`${path} answered ${status}: ${text.slice(0, 500)}`);
    return body.result.data;
  }

  const client = {
    request,
    get: <T = unknown>(path: string, key?: string) => request<T>(path, { headers: withKey(key) }),
    /** Posts events as JSON. */
    send: (events: unknown, key?: string) =>
      request<IngestAnswer>("/api/v1/events", {
        method: "POST",
        headers: { "content-type": "application/json", ...withKey(key) },
        body: JSON.stringify(events),
      }),
    /**
     * Calls a tRPC query.
     * @throws if the server does not answer 200
     */
    query: <T>(procedure: string, input?: unknown, key?: string) =>
      call<T>(
        input === undefined ? procedure : `${procedure}?input=${encodeURIComponent(JSON.stringify(input))}`,
        { headers: withKey(key) },
      ),
    /**
     * Calls a tRPC mutation.
     * @throws if the server does not answer 200
     */
    mutate: <T>(procedure: string, input: unknown = {}) =>
      call<T>(procedure, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(input),
      }),
    /** Creates a key and returns its secret. */
    createKey: async (name: string, scopes: readonly Scope[]) =>
      (await client.mutate<CreatedKey>("keys.create", { name, scopes })).secret,
    /** The failed checks of the doctor, as `name: message`. */
    failedChecks: async () => {
      const { checks } = await client.query<DoctorReport>("doctor");
      return checks.filter((check) => !check.ok).map(({ name, message }) => `${name}: ${message}`);
    },
  };
  return client;
}

function withKey(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
