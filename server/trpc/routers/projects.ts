import {
  CreateProjectInput,
  DeleteProjectInput,
  ProjectList,
  ProjectQuery,
  ProjectView,
  RenameProjectInput,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { PlimsollError } from "../../errors.ts";
import { actorOf, type Principal } from "../../tenants/access/principal.ts";
import { noProject } from "../../tenants/projects/projects.ts";
import { procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("projects");

/** A key knows its own project and no other; a person knows all of them. */
function requireReach({ kind, projectId }: Principal, id: number): void {
  if (kind === "key" && projectId !== id) throw noProject(String(id));
}

export const projects = router({
  list: procedure("admin")
    .meta(rest("GET", "/projects", "All projects; for a key, its own project alone"))
    .input(z.object({}))
    .output(ProjectList)
    .query(async ({ ctx: { principal, services } }) => ({
      projects:
        principal.kind === "key"
          ? [await services.projects.view(principal.projectId)]
          : await services.projects.list(),
    })),

  create: procedure("admin")
    .meta(rest("POST", "/projects", "Create a project; not with a key, which belongs to its own project"))
    .input(CreateProjectInput)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) => {
      if (principal.kind === "key") {
        throw new PlimsollError(
          "wrong_project",
          "A key works only in its own project. Create projects under Setup, or with `npx plimsoll project create` on the server's machine.",
        );
      }
      return services.projects.create(input.name, actorOf(principal));
    }),

  rename: procedure("admin")
    .meta(rest("PATCH", "/projects/{id}", "Rename a project; its links and keys stay valid"))
    .input(RenameProjectInput)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      return services.projects.rename(input.id, input.name, actorOf(principal));
    }),

  archive: procedure("admin")
    .meta(rest("POST", "/projects/{id}/archive", "Make a project refuse new events; it can still be read"))
    .input(ProjectQuery)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      return services.projects.archive(input.id, actorOf(principal));
    }),

  unarchive: procedure("admin")
    .meta(rest("POST", "/projects/{id}/unarchive", "Let an archived project take events again"))
    .input(ProjectQuery)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      return services.projects.unarchive(input.id, actorOf(principal));
    }),

  delete: procedure("admin")
    .meta(rest("DELETE", "/projects/{id}", "Delete a project with all its data and keys; name confirms it"))
    .input(DeleteProjectInput)
    .output(z.object({ deleting: z.literal(true) }))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      await services.projects.delete(input.id, input.name, actorOf(principal));
      return { deleting: true as const };
    }),
});
