import {
  SessionChart,
  SessionDetail,
  SessionPage,
  SessionQuery,
  SessionsQuery,
  TurnPage,
  TurnsQuery,
} from "@plimsoll/protocol";
import { readChart } from "../../telemetry/chart.ts";
import { readSession } from "../../telemetry/session.ts";
import { readSessions } from "../../telemetry/sessions.ts";
import { readTurns } from "../../telemetry/turns.ts";
import { answer, freshProcedure, procedure, router } from "../init.ts";
import { deleteSessions, undeleteSessions } from "./deletion.ts";

const tags = ["sessions"];

export const sessions = router({
  delete: deleteSessions,
  undelete: undeleteSessions,

  list: freshProcedure("read")
    .meta({
      openapi: { method: "GET", path: "/api/v1/sessions", tags, summary: "Sessions active in a range" },
    })
    .input(SessionsQuery)
    .output(answer(SessionPage))
    .query(({ ctx, input }) => readSessions(ctx.reader, input)),

  get: freshProcedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/sessions/{id}",
        tags,
        summary: "One session: agents, windows, boundaries, crossings",
      },
    })
    .input(SessionQuery)
    .output(answer(SessionDetail))
    .query(({ ctx, input }) => readSession(ctx.reader, input.id)),

  turns: procedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/sessions/{id}/turns",
        tags,
        summary: "A session's turns, newest first",
      },
    })
    .input(TurnsQuery)
    .output(answer(TurnPage))
    .query(({ ctx, input }) => readTurns(ctx.reader, input)),

  chart: procedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/sessions/{id}/chart",
        tags,
        summary: "Context tokens by turn, at most about 1,000 points an agent; no peak is left out",
      },
    })
    .input(SessionQuery)
    .output(answer(SessionChart))
    .query(({ ctx, input }) => readChart(ctx.reader, input.id)),
});
