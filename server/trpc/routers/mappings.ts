import { RemoveMappingCall, SavedMapping, SavedMappingList } from "@plimsoll/protocol/api";
import { RecordMapping } from "@plimsoll/protocol/mapping";
import { z } from "zod";
import { actorOf } from "../../tenants/access/principal.ts";
import { procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("mappings");

export const mappings = router({
  list: procedure("read")
    .meta(rest("GET", "/mappings", "Mappings of OpenTelemetry records that no dialect knows, by name"))
    .input(z.object({}).optional())
    .output(SavedMappingList)
    .query(async ({ ctx: { principal, services } }) => ({
      mappings: await services.mappings.list(principal.projectId),
    })),

  save: procedure("change mappings")
    .meta(
      rest(
        "PUT",
        "/mappings/{name}",
        "Creates or replaces a mapping; records received from then on are read by it",
      ),
    )
    .input(RecordMapping)
    .output(SavedMapping)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.mappings.save(principal.projectId, input, actorOf(principal)),
    ),

  remove: procedure("change mappings")
    .meta(rest("DELETE", "/mappings/{name}", "Removes a mapping; turns that it made stay"))
    .input(RemoveMappingCall)
    .output(z.object({}))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.mappings.remove(principal.projectId, input.name, actorOf(principal));
      return {};
    }),
});
