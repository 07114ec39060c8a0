import { RemoveMappingCall, SavedMapping, SavedMappingList } from "@plimsoll/protocol/api";
import { RecordMapping } from "@plimsoll/protocol/mapping";
import { z } from "zod";
import { actorOf } from "../../tenants/access/principal.ts";
import { procedure, router } from "../init.ts";

const tags = ["mappings"];

export const mappings = router({
  list: procedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/mappings",
        tags,
        summary: "Mappings of OpenTelemetry records that no dialect knows, by name",
      },
    })
    .input(z.object({}).optional())
    .output(SavedMappingList)
    .query(async ({ ctx: { principal, services } }) => ({
      mappings: await services.mappings.list(principal.projectId),
    })),

  save: procedure("admin")
    .meta({
      openapi: {
        method: "PUT",
        path: "/api/v1/mappings/{name}",
        tags,
        summary: "Creates or replaces a mapping; records received from then on are read by it",
      },
    })
    .input(RecordMapping)
    .output(SavedMapping)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.mappings.save(principal.projectId, input, actorOf(principal)),
    ),

  remove: procedure("admin")
    .meta({
      openapi: {
        method: "DELETE",
        path: "/api/v1/mappings/{name}",
        tags,
        summary: "Removes a mapping; turns that it made stay",
      },
    })
    .input(RemoveMappingCall)
    .output(z.object({}))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.mappings.remove(principal.projectId, input.name, actorOf(principal));
      return {};
    }),
});
