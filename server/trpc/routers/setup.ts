import {
  CountsQuery,
  CreatedKey,
  CreateKeyInput,
  DoctorQuery,
  DoctorReport,
  IngestCounts,
  IngestReceipts,
  IngestRefusals,
  KeyView,
  ModelWindowList,
  ModelWindowView,
  RemoveModelWindowInput,
  RevokeKeyInput,
  RotatedKey,
  RotateKeyInput,
  SetModelWindowInput,
  StatusQuery,
  UnknownWindows,
  UnmappedTelemetryList,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { freshReader } from "../../lines/reader.ts";
import { readCounts } from "../../read/counts.ts";
import { readRefusals } from "../../read/refusals.ts";
import { readUnmapped } from "../../read/unmapped.ts";
import { findModelWindow, readModelWindows, readUnknownWindows } from "../../read/windows.ts";
import type { KeyAccess, KeyOwner } from "../../tenants/access/keys.ts";
import { actorOf, may, type Principal, requirePermission } from "../../tenants/access/principal.ts";
import { iso } from "../../times.ts";
import { BUDGET_MS, examine } from "../../upkeep/doctor/examine.ts";
import { freshProcedure, procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("metrics");

/** A person who does not administer the project sees and changes their own keys alone. */
const keyAccessOf = (principal: Principal): KeyAccess => ({
  personId: principal.person?.id,
  onlyOwn: !may(principal, "administer"),
});

/** @returns whose a new key is; undefined for a service's */
function ownerOfNew(principal: Principal, service: boolean | undefined): KeyOwner | undefined {
  if (service) requirePermission(principal, "administer");
  const { person, roles, projectId } = principal;
  if (person === undefined || service) return undefined;
  // A key that may make keys has the scope admin.
  return { ...person, roles: roles ?? { everywhere: null, projects: new Map([[projectId, "admin"]]) } };
}

export const keys = router({
  list: procedure("use keys")
    .input(z.object({}).optional())
    .output(z.object({ keys: z.array(KeyView) }))
    .query(async ({ ctx: { principal, services } }) => ({
      keys: await services.keys.list(principal.projectId, keyAccessOf(principal)),
    })),

  create: procedure("use keys")
    .input(CreateKeyInput)
    .output(CreatedKey)
    .mutation(({ ctx: { principal, services }, input: { service, ...input } }) => {
      const owner = ownerOfNew(principal, service);
      return services.keys.create(principal.projectId, input, actorOf(principal), owner);
    }),

  rotate: procedure("use keys")
    .input(RotateKeyInput)
    .output(RotatedKey)
    .mutation(({ ctx: { principal, services }, input: { id, grace } }) =>
      services.keys.rotate(principal.projectId, id, grace, actorOf(principal), keyAccessOf(principal)),
    ),

  revoke: procedure("use keys")
    .input(RevokeKeyInput)
    .output(KeyView)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.keys.revoke(principal.projectId, input.id, actorOf(principal), keyAccessOf(principal)),
    ),
});

export const windows = router({
  list: freshProcedure("read")
    .input(z.object({}).optional())
    .output(ModelWindowList)
    .query(({ ctx }) => readModelWindows(ctx.reader)),

  unknown: freshProcedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/windows/unknown",
        tags: ["metrics"],
        summary: "Models of a range without a known window size, with their turns and sizes to offer",
      },
    })
    .input(StatusQuery)
    .output(UnknownWindows)
    .query(({ ctx, input }) => readUnknownWindows(ctx.reader, input)),

  set: procedure("change mappings")
    .input(SetModelWindowInput)
    .output(ModelWindowView)
    .mutation(async ({ ctx, input }) => {
      const { projectId } = ctx.reader;
      await ctx.services.command(projectId, { type: "set_window", ...input });
      // The projector makes the change in its own transaction.
      await ctx.services.audit.note({
        actor: actorOf(ctx.principal),
        action: "window_set",
        projectId,
        target: input.model,
        detail: `${input.tokens.toLocaleString("en-US")} tokens`,
      });
      const set = await findModelWindow(ctx.reader, input.model);
      return set ?? { ...input, updated_at: iso(ctx.reader.now) };
    }),

  remove: procedure("change mappings")
    .input(RemoveModelWindowInput)
    .output(z.object({ removed: z.boolean() }))
    .mutation(async ({ ctx, input: { model } }) => {
      const { projectId } = ctx.reader;
      const removed = (await findModelWindow(ctx.reader, model)) !== undefined;
      if (removed) {
        await ctx.services.command(projectId, { type: "set_window", model, tokens: null });
        const actor = actorOf(ctx.principal);
        await ctx.services.audit.note({ actor, action: "window_removed", projectId, target: model });
      }
      return { removed };
    }),
});

export const ingest = router({
  counts: freshProcedure("read")
    .meta(rest("GET", "/ingest/counts", "What became of received events, by outcome"))
    .input(CountsQuery)
    .output(IngestCounts)
    .query(({ ctx, input }) => readCounts(ctx.reader, input)),

  refusals: procedure("read")
    .meta(
      rest(
        "GET",
        "/ingest/refusals",
        "What is wrong with refused events: field, harness and a redacted example",
      ),
    )
    .input(z.object({}).optional())
    .output(IngestRefusals)
    .query(({ ctx }) => readRefusals(ctx.reader)),

  received: procedure("see receipts")
    .meta(rest("GET", "/ingest/received", "What arrived with this key since the server process started"))
    .input(z.object({}).optional())
    .output(IngestReceipts)
    .query(({ ctx }) => ctx.services.receipts.of(ctx.principal.keyId)),

  unmapped: procedure("read")
    .meta(
      rest(
        "GET",
        "/ingest/unmapped",
        "Which OpenTelemetry data became no event: source, reason and names of attributes",
      ),
    )
    .input(z.object({}).optional())
    .output(UnmappedTelemetryList)
    .query(({ ctx }) => readUnmapped(ctx.reader)),
});

/** A report, in parts if `answer_within_ms` is given or everything is examined. */
export const doctor = procedure("administer")
  .input(DoctorQuery.optional())
  .output(DoctorReport)
  .query(async ({ ctx, input }) => {
    const { full = false, answer_within_ms, cursor } = input ?? {};
    const answerWithin = answer_within_ms ?? (full ? BUDGET_MS : undefined);
    // What was acknowledged before belongs into the report; later parts go on with what there is.
    const reader = cursor === undefined ? await freshReader(ctx.reader, ctx.services.freshness) : ctx.reader;
    const certificate = ctx.services.certificate?.();
    return examine(reader, {
      databaseUrl: ctx.services.databaseUrl,
      keyId: ctx.services.alerts.endpoints.keyId,
      ...(certificate !== undefined && { certificate: { ...certificate, now: ctx.services.clock() } }),
      clock: () => performance.now(),
      budget: full ? undefined : BUDGET_MS,
      ...(answerWithin !== undefined && { answerWithin }),
      ...(cursor !== undefined && { cursor }),
    });
  });

export const login = router({
  /** A fresh one-time link for a browser. Not with a key: the link opens every project. */
  create: procedure("manage people")
    .input(z.object({}).optional())
    .output(z.object({ url: z.string() }))
    .mutation(async ({ ctx: { principal, services } }) => {
      await services.audit.note({ actor: actorOf(principal), action: "login_link_made" });
      return { url: await services.createLoginUrl() };
    }),
});

export const instance = procedure("read")
  .input(z.object({}).optional())
  .output(
    z.object({ version: z.string(), database: z.enum(["embedded", "external"]), public_url: z.string() }),
  )
  .query(({ ctx }) => ({
    version: ctx.services.version,
    database: ctx.services.databaseMode,
    public_url: ctx.services.publicUrl(),
  }));
