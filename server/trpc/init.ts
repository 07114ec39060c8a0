import { initTRPC, TRPCError } from "@trpc/server";
import type { OpenApiMeta } from "trpc-to-openapi";
import { ZodError, type ZodType } from "zod";
import { databaseUnavailable, isUnavailable } from "../db/unavailable.ts";
import { PlimsollError, toErrorBody } from "../errors.ts";
import { freshReader, type Reader } from "../lines/reader.ts";
import { requirePermission } from "../tenants/access/principal.ts";
import type { Permission } from "../tenants/people/permissions.ts";
import type { Context } from "./context.ts";

/** Why a call failed, as the one error class, whatever tRPC wrapped it in. */
export function plimsollError(error: TRPCError): PlimsollError {
  const { cause } = error;
  if (cause instanceof PlimsollError) return cause;
  if (cause instanceof ZodError) {
    const issue = cause.issues[0];
    const path = issue?.path.join(".") ?? "";
    const missing = issue?.code === "invalid_type" && issue.message.endsWith("received undefined");
    const what = missing ? "is required" : (issue?.message ?? "is not valid");
    return new PlimsollError("invalid_field", `${path}: ${what}`, {
      details: { path },
    });
  }
  if (error.code === "NOT_FOUND") return new PlimsollError("not_found", error.message);
  if (error.code === "INTERNAL_SERVER_ERROR") {
    return new PlimsollError("internal", "Something went wrong in the server.", { cause: error });
  }
  return new PlimsollError("bad_request", error.message);
}

const t = initTRPC
  .meta<OpenApiMeta>()
  .context<Context>()
  .create({
    errorFormatter: ({ shape, error }) => ({
      ...shape,
      message: plimsollError(error).message,
      data: { ...shape.data, stack: undefined, error: toErrorBody(plimsollError(error)).error },
    }),
  });

export const { router } = t;

/** Makes procedures routes of the REST API, under a heading of its description. */
export const restRoutes =
  (tag: string, base = "") =>
  (method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, summary: string): OpenApiMeta => ({
    openapi: { method, path: `/api/v1${base}${path}`, tags: [tag], summary },
  });

const CODES = {
  400: "BAD_REQUEST",
  401: "UNAUTHORIZED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "CONFLICT",
  412: "PRECONDITION_FAILED",
  413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_MEDIA_TYPE",
  429: "TOO_MANY_REQUESTS",
  503: "SERVICE_UNAVAILABLE",
} as const;

/** An error whose status is ours to say; undefined for what tRPC says itself, and for bugs. */
function foreseen(
  error: TRPCError,
  databaseFailure: () => PlimsollError | undefined,
): PlimsollError | undefined {
  if (error.cause instanceof PlimsollError) return error.cause;
  if (error.code !== "INTERNAL_SERVER_ERROR" || !isUnavailable(error)) return undefined;
  return databaseFailure() ?? databaseUnavailable(error);
}

const statusKept = t.procedure.use(async ({ ctx, next, type }) => {
  const { watch } = ctx.services;
  try {
    const down = watch.failure();
    // A call that waited for the database would hold one of its connections, and fail late.
    if (down !== undefined) throw down;
    // A mutation may still succeed, so its caller waits for the outcome.
    const result = await (type === "query" ? watch.during(next()) : next());
    const cause = result.ok ? undefined : foreseen(result.error, watch.failure);
    if (cause === undefined) return result;
    throw cause;
  } catch (error) {
    if (!(error instanceof PlimsollError)) throw error;
    const code = CODES[error.status as keyof typeof CODES] ?? "INTERNAL_SERVER_ERROR";
    throw new TRPCError({ code, message: error.message, cause: error });
  }
});

/** A procedure that needs a permission; it gets the reader of its caller's project. */
export function procedure(permission: Permission) {
  return statusKept.use(async ({ ctx, next, path }) => {
    const principal = requirePermission(await ctx.principal, permission);
    const { prisma, policies, sharedReads, clock, reads } = ctx.services;
    reads.take(principal.keyId, 1);
    const { projectId } = principal;
    const reader: Reader = { prisma, projectId, policy: await policies.bookOf(projectId), now: clock() };
    /** Reads once for all who ask this procedure for the same at the same time. */
    const shared = <T>(input: unknown, read: () => Promise<T>) =>
      sharedReads.ask(`${projectId}/${path}/${JSON.stringify(input)}`, read);
    return next({ ctx: { ...ctx, principal, reader, shared } });
  });
}

/** A procedure whose reader has waited for the events acknowledged before it was asked. */
export function freshProcedure(permission: Permission) {
  return procedure(permission).use(async ({ ctx, next }) => {
    const reader = await freshReader(ctx.reader, ctx.services.freshness);
    if (reader.lag.events > 0) ctx.response.behind = reader.lag;
    return next({ ctx: { ...ctx, reader } });
  });
}

/**
 * The same schema, checked at one go: zod compiles that, but not the asynchronous check tRPC asks for, which takes six
 * times as long over a list of agents.
 */
export function answer<T extends ZodType>(schema: T): T {
  return Object.create(schema, { parseAsync: { value: async (value: unknown) => schema.parse(value) } });
}
