import {
  AlertAttempt,
  AlertDeliveriesQuery,
  AlertDeliveryDetail,
  AlertDeliveryPage,
  AlertDeliveryQuery,
  AlertDeliveryView,
  AlertEndpointList,
  AlertEndpointQuery,
  AlertEndpointView,
  AlertEndpointWithSecret,
  CreateAlertEndpointCall,
  SaveAlertEndpointCall,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { actorOf } from "../../tenants/access/principal.ts";
import { answer, procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("alerts", "/alerts");

export const alertEndpoints = router({
  list: procedure("read")
    .meta(rest("GET", "/endpoints", "Alert endpoints, by name"))
    .input(z.object({}).optional())
    .output(answer(AlertEndpointList))
    .query(async ({ ctx: { principal, services } }) => ({
      endpoints: await services.alerts.endpoints.list(principal.projectId),
    })),

  get: procedure("read")
    .meta(rest("GET", "/endpoints/{id}", "An alert endpoint"))
    .input(AlertEndpointQuery)
    .output(answer(AlertEndpointView))
    .query(({ ctx: { principal, services }, input }) =>
      services.alerts.endpoints.get(principal.projectId, input.id),
    ),

  create: procedure("change alerts")
    .meta(rest("POST", "/endpoints", "Creates an alert endpoint; the answer has its signing secret"))
    .input(CreateAlertEndpointCall)
    .output(answer(AlertEndpointWithSecret))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.endpoints.create(principal.projectId, input, actorOf(principal)),
    ),

  save: procedure("change alerts")
    .meta(rest("PUT", "/endpoints/{id}", "Renames an alert endpoint, or gives it another target"))
    .input(SaveAlertEndpointCall)
    .output(answer(AlertEndpointWithSecret))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.endpoints.save(principal.projectId, input, actorOf(principal)),
    ),

  remove: procedure("change alerts")
    .meta(rest("DELETE", "/endpoints/{id}", "Deletes an alert endpoint and the log of its deliveries"))
    .input(AlertEndpointQuery)
    .output(z.object({}))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.alerts.endpoints.remove(principal.projectId, input.id, actorOf(principal));
      return {};
    }),

  rotate: procedure("change alerts")
    .meta(rest("POST", "/endpoints/{id}/rotate", "Gives a webhook a new signing secret"))
    .input(AlertEndpointQuery)
    .output(answer(AlertEndpointWithSecret))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.endpoints.rotate(principal.projectId, input.id, actorOf(principal)),
    ),

  pause: procedure("change alerts")
    .meta(rest("POST", "/endpoints/{id}/pause", "Sends nothing to an alert endpoint until it is resumed"))
    .input(AlertEndpointQuery)
    .output(answer(AlertEndpointView))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.endpoints.pause(principal.projectId, input.id, true, actorOf(principal)),
    ),

  resume: procedure("change alerts")
    .meta(rest("POST", "/endpoints/{id}/resume", "Sends to a paused alert endpoint again"))
    .input(AlertEndpointQuery)
    .output(answer(AlertEndpointView))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.endpoints.pause(principal.projectId, input.id, false, actorOf(principal)),
    ),

  test: procedure("change alerts")
    .meta(rest("POST", "/endpoints/{id}/test", "Sends a test and waits for the answer"))
    .input(AlertEndpointQuery)
    .output(answer(AlertAttempt))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.endpoints.test(principal.projectId, input.id, actorOf(principal)),
    ),
});

export const alertDeliveries = router({
  list: procedure("read")
    .meta(rest("GET", "/deliveries", "Deliveries of alerts, newest first"))
    .input(AlertDeliveriesQuery)
    .output(answer(AlertDeliveryPage))
    .query(({ ctx: { principal, services }, input }) =>
      services.alerts.deliveries.list(principal.projectId, input),
    ),

  get: procedure("read")
    .meta(rest("GET", "/endpoints/{endpoint}/deliveries/{id}", "A delivery with its attempts"))
    .input(AlertDeliveryQuery)
    .output(answer(AlertDeliveryDetail))
    .query(({ ctx: { principal, services }, input }) =>
      services.alerts.deliveries.get(principal.projectId, input),
    ),

  redeliver: procedure("change alerts")
    .meta(rest("POST", "/endpoints/{endpoint}/deliveries/{id}/redeliver", "Sends a delivery again"))
    .input(AlertDeliveryQuery)
    .output(answer(AlertDeliveryView))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.deliveries.redeliver(principal.projectId, input, actorOf(principal)),
    ),
});
