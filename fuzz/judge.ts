import { isForPeople, routeOf } from "../server/http/routes.ts";
import type { HttpAnswer } from "./http-answers.ts";
import type { HttpInput } from "./http-input.ts";
import type { Missing } from "./pipeline.ts";

/** What no input may cause. */
export type Fault =
  | "server_error"
  | "503_without_retry_after"
  | "wrong_error_shape"
  | "wrong_answer"
  | "closed"
  | "no_answer"
  | "stall"
  | "processor"
  | "exception"
  | "invalid_event";

export interface Verdict {
  /** The status, or what came in its place. */
  outcome: string;
  fault?: Fault;
  detail?: string;
  /** Events that the server says it accepted. */
  accepted: number;
}

/** Judges one answer: no fault of the server, and every refusal in the one shape. */
export function judge(input: HttpInput, answer: HttpAnswer | Missing): Verdict {
  if (typeof answer === "string") return { outcome: answer, fault: answer, accepted: 0 };
  const { status } = answer;
  const verdict = (fault?: Fault): Verdict => ({
    outcome: String(status),
    accepted: 0,
    ...(fault !== undefined && { fault, detail: `${status} ${answer.body.toString("utf8", 0, 300)}` }),
  });
  if (status >= 500 && status !== 503) return verdict("server_error");
  if (status === 503 && !/^\d+$/.test(answer.headers.get("retry-after") ?? "")) {
    return verdict("503_without_retry_after");
  }
  const path = input.path.split("?", 1)[0]!;
  if (status >= 400) return verdict(isRefusal(input, answer) ? undefined : "wrong_error_shape");
  if (status === 200 && path === "/api/v1/events" && input.method === "POST") {
    const accepted = acceptedOf(answer);
    return accepted === undefined ? verdict("wrong_answer") : { outcome: "200", accepted };
  }
  return verdict();
}

function acceptedOf({ body }: HttpAnswer): number | undefined {
  const { accepted, duplicates = 0, rejected } = jsonOf(body) as Record<string, unknown>;
  if (typeof accepted !== "number" || typeof duplicates !== "number" || !Array.isArray(rejected))
    return undefined;
  return accepted + duplicates;
}

const SIGN_IN_PAGES = /^\/api\/v1\/sign-in\/(start|callback)(?:[?#]|$)/;

function isRefusal({ method, path }: HttpInput, answer: HttpAnswer): boolean {
  if (method === "HEAD") return true;
  // Written by Node's HTTP parser, which found no request to answer.
  if (answer.closes && answer.body.length === 0 && [400, 408, 431].includes(answer.status)) return true;
  // Pages are off: the page server's text stands for them.
  if (isForPeople(routeOf(path))) return true;
  // Links and providers send browsers here, so a person reads the answer.
  const isPage = answer.headers.get("content-type")?.startsWith("text/html") === true;
  if (SIGN_IN_PAGES.test(path) && isPage) return answer.body.subarray(0, 15).toString() === "<!doctype html>";
  // OTLP has a shape of its own: google.rpc.Status, in the encoding of the request.
  const isProtobuf = answer.headers.get("content-type") === "application/x-protobuf";
  if (path.startsWith("/otlp/") && isProtobuf) return answer.body.length > 0;
  const json = jsonOf(answer.body);
  if (path.startsWith("/otlp/") && "message" in json) return typeof json.message === "string";
  // So has MCP: JSON-RPC, unless the body was not read.
  if (path.startsWith("/api/v1/mcp") && "jsonrpc" in json)
    return typeof (json as { error?: { message?: unknown } }).error?.message === "string";
  return /^\/api\/trpc(?:[/?#]|$)/.test(path) ? isTrpcRefusal(json) : isErrorBody(json);
}

function isErrorBody(json: unknown): boolean {
  const { error } = json as { error?: { code?: unknown; message?: unknown } };
  return typeof error?.code === "string" && typeof error.message === "string";
}

/** A batch has an item for each call, and some of them may have succeeded. */
function isTrpcRefusal(json: unknown): boolean {
  if (Array.isArray(json)) return json.every((item) => isTrpcRefusal(item) || "result" in Object(item));
  const { error } = Object(json) as { error?: { data?: { error?: unknown } } };
  return isErrorBody(json) || isErrorBody({ error: error?.data?.error });
}

/** An empty object for what is not JSON. */
function jsonOf(body: Buffer): object {
  try {
    return Object(JSON.parse(body.toString()));
  } catch {
    return {};
  }
}
