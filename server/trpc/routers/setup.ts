import {
  CountsQuery,
  CreatedKey,
  CreateKeyInput,
  DoctorReport,
  IngestCounts,
  KeyView,
  ModelWindowView,
  RemoveModelWindowInput,
  RevokeKeyInput,
  SetModelWindowInput,
} from "@plimsoll/protocol";
import { z } from "zod";
import { PlimsollError } from "../../errors.ts";
import { readCounts } from "../../telemetry/counts.ts";
import { examine } from "../../telemetry/doctor.ts";
import { readModelWindows, removeModelWindow, setModelWindow } from "../../telemetry/windows.ts";
import { procedure, router, settledProcedure } from "../init.ts";

export const keys = router({
  list: procedure("admin")
    .input(z.object({}).optional())
    .output(z.object({ keys: z.array(KeyView) }))
    .query(async ({ ctx }) => ({ keys: await ctx.services.keys.list(ctx.principal.projectId) })),

  create: procedure("admin")
    .input(CreateKeyInput)
    .output(CreatedKey)
    .mutation(({ ctx, input }) => ctx.services.keys.create(ctx.principal.projectId, input)),

  revoke: procedure("admin")
    .input(RevokeKeyInput)
    .output(KeyView)
    .mutation(({ ctx, input }) => ctx.services.keys.revoke(ctx.principal.projectId, input.id)),
});

export const windows = router({
  list: procedure("read")
    .input(z.object({}).optional())
    .output(z.object({ windows: z.array(ModelWindowView), unknown: z.array(z.string()) }))
    .query(({ ctx }) => readModelWindows(ctx.reader)),

  set: procedure("admin")
    .input(SetModelWindowInput)
    .output(ModelWindowView)
    .mutation(({ ctx, input }) => setModelWindow(ctx.reader, ctx.services.windows, input)),

  remove: procedure("admin")
    .input(RemoveModelWindowInput)
    .output(z.object({ removed: z.boolean() }))
    .mutation(({ ctx, input }) => removeModelWindow(ctx.reader, ctx.services.windows, input.model)),
});

export const ingest = router({
  counts: settledProcedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/ingest/counts",
        tags: ["metrics"],
        summary: "What became of received events, by outcome",
      },
    })
    .input(CountsQuery)
    .output(IngestCounts)
    .query(({ ctx, input }) => readCounts(ctx.reader, input)),
});

export const doctor = settledProcedure("admin")
  .input(z.object({}).optional())
  .output(DoctorReport)
  .query(({ ctx }) => {
    const { databaseUrl, models, windows } = ctx.services;
    const { projectId, thresholds } = ctx.reader;
    const fold = { thresholds, lookups: windows.windows.lookups(projectId) };
    return examine(ctx.reader, { databaseUrl, models, fold });
  });

export const login = router({
  /** A fresh one-time link for a browser. Not with a key: the link opens every project. */
  create: procedure("admin")
    .input(z.object({}).optional())
    .output(z.object({ url: z.string() }))
    .mutation(({ ctx }) => {
      if (ctx.principal.kind === "key") {
        throw new PlimsollError(
          "wrong_project",
          "A key works only in its own project, and a login opens every project. Run `plimsoll login` without a key, on the server's machine.",
        );
      }
      return { url: ctx.services.createLoginUrl() };
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
