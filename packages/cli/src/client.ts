import { ErrorBody } from "@plimsoll/protocol/api";
import { createTRPCUntypedClient, httpBatchLink, TRPCClientError } from "@trpc/client";
import { z } from "zod";
import { accessHint, type Connection } from "./connection.ts";
import { CliError } from "./errors.ts";
import { unreachable } from "./network/unreachable.ts";
import { request } from "./request.ts";

/** Validates an answer; a zod schema of the protocol package fits. */
export interface AnswerSchema<T> {
  safeParse(value: unknown): { success: true; data: T } | { success: false; error: { message: string } };
}

/**
 * Calls tRPC procedures by name and validates the answers, so the command line needs none of the server's types.
 * Both methods throw a CliError if the server cannot be reached, refuses the call or gives an unexpected answer.
 */
export interface Client {
  query<T>(path: string, input: unknown, schema: AnswerSchema<T>): Promise<T>;
  mutate<T>(path: string, input: unknown, schema: AnswerSchema<T>): Promise<T>;
}

const TIMEOUT_MS = 30_000;

/** @param timeoutMs longest time to wait for one answer */
export function createClient(connection: Connection, timeoutMs = TIMEOUT_MS): Client {
  const trpc = createTRPCUntypedClient({
    links: [
      httpBatchLink({
        url: `${connection.url}/api/trpc`,
        fetch: (url, options) => {
          const { headers, ...init } = options as RequestInit;
          return request(connection, String(url).slice(connection.url.length), {
            ...init,
            headers: Object.fromEntries(new Headers(headers)),
            signal: AbortSignal.timeout(timeoutMs),
          });
        },
      }),
    ],
  });
  const call = async <T>(
    kind: "query" | "mutation",
    path: string,
    input: unknown,
    schema: AnswerSchema<T>,
  ) => {
    let answer: unknown;
    try {
      answer = await trpc[kind](path, input);
    } catch (error) {
      throw explain(error, connection, path);
    }
    const checked = schema.safeParse(answer);
    if (checked.success) return checked.data;
    throw new CliError(
      `${connection.url} returned an answer to ${path} that this version does not understand.`,
      {
        hint: "The server and the command line may have different versions.",
        cause: checked.error,
      },
    );
  };
  return {
    query: (path, input, schema) => call("query", path, input, schema),
    mutate: (path, input, schema) => call("mutation", path, input, schema),
  };
}

/** Data of a tRPC error, with the error object that every API answer uses. */
const ErrorData = z.object({
  httpStatus: z.number().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
const ACCESS: Record<string, 401 | 403> = { unauthenticated: 401, forbidden_scope: 403 };

/** Refusals that another key or scope would not change; their message says what to do. */
const OF_PROJECTS: ReadonlySet<string> = new Set(["wrong_project", "project_archived"]);

function explain(error: unknown, connection: Connection, path: string): CliError {
  if (!(error instanceof TRPCClientError)) return unreachable(connection, error);
  if (error.cause instanceof CliError) return error.cause;
  const data = ErrorData.safeParse(error.data).data;
  const response = error.meta?.response as { status?: unknown } | undefined;
  if (OF_PROJECTS.has(data?.error?.code ?? "")) return new CliError(error.message, { cause: error });
  const status = ACCESS[data?.error?.code ?? ""] ?? Number(data?.httpStatus ?? response?.status);
  if (status === 401 || status === 403) {
    const what = status === 401 ? `Not authorized at ${connection.url}.` : `Not allowed to call ${path}.`;
    const said = connection.token === undefined ? undefined : data?.error?.message;
    return new CliError(said === undefined ? what : `${what} ${said}`, {
      hint: accessHint(connection, status),
      refusal: status === 401 ? "unauthenticated" : "forbidden",
      cause: error,
    });
  }
  if (Number.isNaN(status)) return unreachable(connection, error);
  if (data === undefined) {
    // Answered before tRPC saw the request, for example because of its Host.
    const said = ErrorBody.safeParse(error.meta?.responseJSON).data?.error.message;
    if (said !== undefined) return new CliError(`${connection.url} answered: ${said}`, { cause: error });
    return new CliError(`${connection.url} answered HTTP ${status} to ${path}.`, {
      hint: "Check that this is a Plimsoll server of the same version.",
      cause: error,
    });
  }
  return new CliError(`${connection.url} failed to run ${path}: ${error.message}`, { cause: error });
}
