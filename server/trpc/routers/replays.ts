import {
  ReplayCall,
  ReplayQuery,
  ReplaySessionQuery,
  ReplaySessionView,
  ReplayView,
} from "@plimsoll/protocol/api";
import { readPolicy } from "@plimsoll/protocol/policy";
import { invalidPolicy } from "../../policies/policies.ts";
import { spanOf } from "../../times.ts";
import { answer, freshProcedure, procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("policies", "/policy/replays");

export const replays = router({
  start: freshProcedure("read")
    .meta(rest("POST", "", "Starts to replay a policy over recorded turns"))
    .input(ReplayCall)
    .output(answer(ReplayView))
    .mutation(({ ctx: { reader, services }, input: { candidate, from, to, ...filter } }) => {
      const read = readPolicy(candidate);
      if (!read.ok) throw invalidPolicy(read.mistakes);
      const { projectId, policy: book } = reader;
      const id = services.replays.start({
        databaseUrl: services.databaseUrl,
        projectId,
        book,
        candidate: read.body,
        filter: { ...filter, ...spanOf({ from, to }) },
      });
      return services.replays.view(projectId, id);
    }),

  status: procedure("read")
    .meta(rest("GET", "/{id}", "The progress or result of a replay"))
    .input(ReplayQuery)
    .output(answer(ReplayView))
    .query(({ ctx: { reader, services }, input: { id } }) => services.replays.view(reader.projectId, id)),

  session: procedure("read")
    .meta(
      rest(
        "GET",
        "/{id}/sessions/{session}",
        "Context tokens of one session by turn: what happened, the current policy and the candidate",
      ),
    )
    .input(ReplaySessionQuery)
    .output(answer(ReplaySessionView))
    .query(({ ctx: { reader, services }, input: { id, session } }) =>
      services.replays.session(reader.projectId, id, session),
    ),

  cancel: procedure("read")
    .meta(rest("POST", `/{id}/cancel`, "Ends a replay that runs"))
    .input(ReplayQuery)
    .output(answer(ReplayView))
    .mutation(async ({ ctx: { reader, services }, input: { id } }) => {
      await services.replays.cancel(reader.projectId, id);
      return services.replays.view(reader.projectId, id);
    }),
});
