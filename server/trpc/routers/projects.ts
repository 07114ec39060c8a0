import {
  CreateProjectInput,
  DeleteProjectInput,
  HideNamesInput,
  ProjectList,
  ProjectQuery,
  ProjectView,
  RenameProjectInput,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { actorOf, type Principal, requireRole } from "../../tenants/access/principal.ts";
import { OWNER, roleIn } from "../../tenants/people/permissions.ts";
import { noProject } from "../../tenants/projects/projects.ts";
import { procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("projects");

/** A key knows its own project and no other; a person knows those in which they have a role. */
function requireReach(principal: Principal, id: number): void {
  if (principal.kind !== "key") requireRole(principal, id, "administer");
  else if (principal.projectId !== id) throw noProject(String(id));
}

export const projects = router({
  list: procedure("see projects")
    .meta(rest("GET", "/projects", "All projects that the caller may see; for a key, its own project alone"))
    .input(z.object({}))
    .output(ProjectList)
    .query(async ({ ctx: { principal, services } }) => ({
      projects:
        principal.kind === "key"
          ? [await services.projects.view(principal.projectId)]
          : (await services.projects.list()).filter(
              ({ id }) => roleIn(principal.roles ?? OWNER, id) !== null,
            ),
    })),

  create: procedure("create projects")
    .meta(rest("POST", "/projects", "Create a project; not with a key, which belongs to its own project"))
    .input(CreateProjectInput)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.projects.create(input.name, actorOf(principal)),
    ),

  rename: procedure("see projects")
    .meta(rest("PATCH", "/projects/{id}", "Rename a project; its links and keys stay valid"))
    .input(RenameProjectInput)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      return services.projects.rename(input.id, input.name, actorOf(principal));
    }),

  archive: procedure("see projects")
    .meta(rest("POST", "/projects/{id}/archive", "Make a project refuse new events; it can still be read"))
    .input(ProjectQuery)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      return services.projects.archive(input.id, actorOf(principal));
    }),

  unarchive: procedure("see projects")
    .meta(rest("POST", "/projects/{id}/unarchive", "Let an archived project take events again"))
    .input(ProjectQuery)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      return services.projects.unarchive(input.id, actorOf(principal));
    }),

  hideNames: procedure("see projects")
    .meta(
      rest(
        "PUT",
        "/projects/{id}/names",
        "Hide names of people while fewer than five have a role, or show them",
      ),
    )
    .input(HideNamesInput)
    .output(ProjectView)
    .mutation(({ ctx: { principal, services }, input: { id, hidden } }) => {
      requireReach(principal, id);
      return services.projects.hideNames(id, hidden, actorOf(principal));
    }),

  delete: procedure("see projects")
    .meta(rest("DELETE", "/projects/{id}", "Delete a project with all its data and keys; name confirms it"))
    .input(DeleteProjectInput)
    .output(z.object({ deleting: z.literal(true) }))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      requireReach(principal, input.id);
      await services.projects.delete(input.id, input.name, actorOf(principal));
      return { deleting: true as const };
    }),
});
