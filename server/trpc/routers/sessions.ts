import {
  RemoveSessionViewCall,
  SavedSessionView,
  SavedSessionViewList,
  SaveNoteCall,
  SaveSessionViewCall,
  SessionChart,
  SessionCount,
  SessionDetail,
  SessionFilter,
  SessionFilterValues,
  SessionNoteText,
  SessionPage,
  SessionQuery,
  SessionsQuery,
  SessionValuesQuery,
  TaggedSessions,
  TagSessionsCall,
  TurnPage,
  TurnsQuery,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { readChart } from "../../read/chart.ts";
import { readSession } from "../../read/session.ts";
import { readFilterValues } from "../../read/session-filter-values.ts";
import { countSessions, readSessions } from "../../read/sessions.ts";
import { readTurns } from "../../read/turns.ts";
import { actorOf } from "../../tenants/access/principal.ts";
import { answer, freshProcedure, procedure, restRoutes, router } from "../init.ts";
import { deleteSessions, undeleteSessions } from "./deletion.ts";

const rest = restRoutes("sessions");
const nothing = z.object({}).optional();

const views = router({
  list: procedure("read")
    .meta(rest("GET", "/session-views", "Saved views, by name"))
    .input(nothing)
    .output(answer(SavedSessionViewList))
    .query(async ({ ctx: { principal, services } }) => ({
      views: await services.sessionViews.list(principal.projectId),
    })),

  save: procedure("annotate")
    .meta(rest("PUT", "/session-views/{id}", "Creates or replaces a saved view; the caller chooses its id"))
    .input(SaveSessionViewCall)
    .output(answer(SavedSessionView))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.sessionViews.save(principal.projectId, input, actorOf(principal)),
    ),

  remove: procedure("annotate")
    .meta(rest("DELETE", "/session-views/{id}", "Deletes a saved view"))
    .input(RemoveSessionViewCall)
    .output(z.object({}))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.sessionViews.remove(principal.projectId, input.id, actorOf(principal));
      return {};
    }),
});

export const sessions = router({
  delete: deleteSessions,
  undelete: undeleteSessions,

  list: freshProcedure("read")
    .meta(rest("GET", "/sessions", "Sessions active in a range"))
    .input(SessionsQuery)
    .output(answer(SessionPage))
    .query(({ ctx, input }) => readSessions(ctx.reader, input)),

  count: freshProcedure("read")
    .meta(rest("GET", "/session-count", "How many sessions match"))
    .input(SessionFilter)
    .output(answer(SessionCount))
    .query(({ ctx, input }) => countSessions(ctx.reader, input)),

  values: procedure("read")
    .meta(rest("GET", "/session-values", "Values that sessions can be filtered by, such as tags and models"))
    .input(SessionValuesQuery.optional())
    .output(answer(SessionFilterValues))
    .query(({ ctx, input }) => readFilterValues(ctx.reader, input)),

  tag: procedure("annotate")
    .meta(rest("POST", "/session-tags", "Adds a tag to sessions, or removes it"))
    .input(TagSessionsCall)
    .output(answer(TaggedSessions))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.sessionTags.change(principal.projectId, input, actorOf(principal)),
    ),

  saveNote: procedure("annotate")
    .meta(rest("PUT", "/sessions/{id}/note", "Replaces the note of a session; an empty text deletes it"))
    .input(SaveNoteCall)
    .output(answer(SessionNoteText))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.sessionNotes.save(principal.projectId, input, actorOf(principal)),
    ),

  views,

  get: freshProcedure("read")
    .meta(rest("GET", "/sessions/{id}", "One session: agents, windows, boundaries, crossings"))
    .input(SessionQuery)
    .output(answer(SessionDetail))
    .query(({ ctx, input }) => readSession(ctx.reader, input.id)),

  turns: procedure("read")
    .meta(rest("GET", "/sessions/{id}/turns", "A session's turns, newest first"))
    .input(TurnsQuery)
    .output(answer(TurnPage))
    .query(({ ctx, input }) => readTurns(ctx.reader, input)),

  chart: procedure("read")
    .meta(
      rest(
        "GET",
        "/sessions/{id}/chart",
        "Context tokens by turn, at most about 1,000 points an agent; no peak is left out",
      ),
    )
    .input(SessionQuery)
    .output(answer(SessionChart))
    .query(({ ctx, input }) => readChart(ctx.reader, input.id)),
});
