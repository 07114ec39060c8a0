import {
  DeleteHarnessesInput,
  DeleteSessionsInput,
  DeletionView,
  RetentionDays,
  RetentionPreview,
  RetentionPreviewQuery,
  RetentionView,
  UndeleteHarnessesInput,
  UndeleteSessionsInput,
  UndeletionView,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { actorOf, type Principal } from "../../tenants/access/principal.ts";
import { procedure, restRoutes, router } from "../init.ts";

const sessionsRest = restRoutes("sessions");
const harnessesRest = restRoutes("metrics");
const projectsRest = restRoutes("projects");

export const by = (principal: Principal, dryRun = false) => ({
  projectId: principal.projectId,
  actor: actorOf(principal),
  dryRun,
});

export const deleteSessions = procedure("delete")
  .meta(
    sessionsRest("POST", "/sessions/delete", "Delete sessions; for ten seconds, undelete brings them back"),
  )
  .input(DeleteSessionsInput)
  .output(DeletionView)
  .mutation(({ ctx: { principal, services }, input }) =>
    services.deletions.deleteSessions(input.ids, by(principal, input.dry_run)),
  );

export const undeleteSessions = procedure("delete")
  .meta(sessionsRest("POST", "/sessions/undelete", "Undo the deletion of sessions within ten seconds"))
  .input(UndeleteSessionsInput)
  .output(UndeletionView)
  .mutation(({ ctx: { principal, services }, input }) =>
    services.deletions.undeleteSessions(input.ids, by(principal)),
  );

/** Not `harnesses`, which is the list. */
export const harness = router({
  delete: procedure("delete")
    .meta(
      harnessesRest(
        "POST",
        "/harnesses/delete",
        "Delete harness instances with their sessions; for ten seconds, undelete brings them back",
      ),
    )
    .input(DeleteHarnessesInput)
    .output(DeletionView)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.deletions.deleteHarnesses(input.instances, by(principal, input.dry_run)),
    ),

  /** What a deletion would delete. */
  count: procedure("delete")
    .input(UndeleteHarnessesInput)
    .output(DeletionView)
    .query(({ ctx: { principal, services }, input }) =>
      services.deletions.deleteHarnesses(input.instances, by(principal, true)),
    ),

  undelete: procedure("delete")
    .meta(
      harnessesRest(
        "POST",
        "/harnesses/undelete",
        "Undo the deletion of harness instances within ten seconds",
      ),
    )
    .input(UndeleteHarnessesInput)
    .output(UndeletionView)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.deletions.undeleteHarnesses(input.instances, by(principal)),
    ),
});

export const retention = router({
  get: procedure("delete")
    .meta(projectsRest("GET", "/retention", "How long the project keeps its data, and the size on disk"))
    .input(z.object({}))
    .output(RetentionView)
    .query(({ ctx: { principal, services } }) => services.retention.read(principal.projectId)),

  preview: procedure("delete")
    .meta(projectsRest("GET", "/retention/preview", "What a retention would remove now"))
    .input(RetentionPreviewQuery)
    .output(RetentionPreview)
    .query(({ ctx: { principal, services }, input }) =>
      services.retention.preview(principal.projectId, {
        session_days: input.session_days ?? null,
        rollup_days: input.rollup_days ?? null,
      }),
    ),

  set: procedure("delete")
    .meta(
      projectsRest("PUT", "/retention", "Set how long the project keeps its data; null keeps it for good"),
    )
    .input(RetentionDays)
    .output(RetentionView)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.retention.set(principal.projectId, input, actorOf(principal)),
    ),
});
