import { ALERT_PRESETS } from "@plimsoll/protocol/alerts";
import {
  AcknowledgeAlertsCall,
  AcknowledgedAlerts,
  AlertBacktest,
  AlertBacktestCall,
  AlertPage,
  AlertPresetCall,
  AlertRuleExport,
  AlertRuleImport,
  AlertRuleList,
  AlertRuleQuery,
  AlertRuleView,
  AlertSilenceList,
  AlertSilenceView,
  AlertsQuery,
  AlertTimeline,
  CreateAlertRuleCall,
  CreateAlertSilenceCall,
  EndAlertSilenceCall,
  ImportAlertRulesCall,
  RemoveAlertRuleCall,
  SaveAlertRuleCall,
  SwitchAlertRuleCall,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { readAlertTimeline } from "../../alerts/alert-timeline.ts";
import { readAlerts } from "../../alerts/read-alerts.ts";
import { actorOf } from "../../tenants/access/principal.ts";
import { spanOf } from "../../times.ts";
import { answer, freshProcedure, procedure, restRoutes, router } from "../init.ts";
import { alertDeliveries, alertEndpoints } from "./alert-endpoints.ts";

const rest = restRoutes("alerts", "/alerts");
const nothing = z.object({}).optional();

const rules = router({
  list: procedure("read")
    .meta(rest("GET", "/rules", "Alert rules, by name"))
    .input(nothing)
    .output(answer(AlertRuleList))
    .query(async ({ ctx: { principal, services } }) => ({
      rules: await services.alerts.rules.list(principal.projectId),
    })),

  get: procedure("read")
    .meta(rest("GET", "/rules/{id}", "An alert rule"))
    .input(AlertRuleQuery)
    .output(answer(AlertRuleView))
    .query(({ ctx: { principal, services }, input }) =>
      services.alerts.rules.get(principal.projectId, input.id),
    ),

  create: procedure("change alerts")
    .meta(rest("POST", "/rules", "Creates an alert rule"))
    .input(CreateAlertRuleCall)
    .output(answer(AlertRuleView))
    .mutation(({ ctx: { principal, services }, input: { rule, enabled } }) =>
      services.alerts.rules.create(principal.projectId, { rule, enabled }, actorOf(principal)),
    ),

  createPreset: procedure("change alerts")
    .meta(rest("POST", "/presets", "Creates an alert rule from a preset"))
    .input(AlertPresetCall)
    .output(answer(AlertRuleView))
    .mutation(({ ctx: { principal, services }, input: { preset, endpoints } }) => {
      const rule = { ...ALERT_PRESETS[preset], endpoints };
      return services.alerts.rules.create(principal.projectId, { rule, enabled: true }, actorOf(principal));
    }),

  save: procedure("change alerts")
    .meta(rest("PUT", "/rules/{id}", "Replaces an alert rule"))
    .input(SaveAlertRuleCall)
    .output(answer(AlertRuleView))
    .mutation(({ ctx: { principal, services }, input: { id, expected, rule } }) =>
      services.alerts.rules.save(principal.projectId, { id, expected, rule }, actorOf(principal)),
    ),

  switch: procedure("change alerts")
    .meta(rest("POST", "/rules/{id}/switch", "Switches an alert rule on or off"))
    .input(SwitchAlertRuleCall)
    .output(answer(AlertRuleView))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.rules.switch(principal.projectId, input, actorOf(principal)),
    ),

  remove: procedure("change alerts")
    .meta(rest("DELETE", "/rules/{id}", "Deletes an alert rule; its alerts end"))
    .input(RemoveAlertRuleCall)
    .output(z.object({}))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.alerts.rules.remove(principal.projectId, input.id, actorOf(principal));
      return {};
    }),

  export: procedure("read")
    .meta(rest("GET", "/export", "All alert rules as YAML"))
    .input(nothing)
    .output(answer(AlertRuleExport))
    .query(async ({ ctx: { principal, services } }) => ({
      yaml: await services.alerts.rules.export(principal.projectId),
    })),

  import: procedure("change alerts")
    .meta(rest("POST", "/import", "Saves alert rules from YAML, all of them or none"))
    .input(ImportAlertRulesCall)
    .output(answer(AlertRuleImport))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.rules.import(principal.projectId, input, actorOf(principal)),
    ),
});

const silences = router({
  list: procedure("read")
    .meta(rest("GET", "/silences", "Silences, the latest end first"))
    .input(nothing)
    .output(answer(AlertSilenceList))
    .query(async ({ ctx: { principal, services } }) => ({
      silences: await services.alerts.silences.list(principal.projectId),
    })),

  create: procedure("silence")
    .meta(rest("POST", "/silences", "Silences the alerts that match"))
    .input(CreateAlertSilenceCall)
    .output(answer(AlertSilenceView))
    .mutation(({ ctx: { principal, services }, input: { starts_at, ends_at, ...silence } }) => {
      const startsAt = starts_at === undefined ? undefined : new Date(starts_at);
      const times = { startsAt, endsAt: new Date(ends_at) };
      return services.alerts.silences.create(
        principal.projectId,
        { ...silence, ...times },
        actorOf(principal),
      );
    }),

  end: procedure("silence")
    .meta(rest("POST", "/silences/{id}/end", "Ends a silence now"))
    .input(EndAlertSilenceCall)
    .output(answer(AlertSilenceView))
    .mutation(({ ctx: { principal, services }, input }) =>
      services.alerts.silences.end(principal.projectId, input.id, actorOf(principal)),
    ),
});

export const alerts = router({
  list: procedure("read")
    .meta(rest("GET", "", "Alerts that fire, the worst first; or those that have ended"))
    .input(AlertsQuery)
    .output(answer(AlertPage))
    .query(({ ctx, input }) => readAlerts(ctx.reader, input)),

  timeline: procedure("read")
    .meta(rest("GET", "/timeline", "When the rules fired in the last 24 hours"))
    .input(nothing)
    .output(answer(AlertTimeline))
    .query(({ ctx }) => readAlertTimeline(ctx.reader)),

  acknowledge: procedure("silence")
    .meta(rest("POST", "/acknowledge", "Acknowledges alerts that fire"))
    .input(AcknowledgeAlertsCall)
    .output(answer(AcknowledgedAlerts))
    .mutation(({ ctx: { principal, services }, input: { ids } }) =>
      services.alerts.silences.acknowledge(principal.projectId, ids, actorOf(principal)),
    ),

  backtest: freshProcedure("read")
    .meta(rest("POST", "/backtest", "What a rule would have told over recorded history"))
    .input(AlertBacktestCall)
    .output(answer(AlertBacktest))
    .mutation(({ ctx: { reader, services }, input: { rule, from, to } }) =>
      services.alerts.backtests.run(reader, { rule, span: spanOf({ from, to }) }),
    ),

  rules,
  silences,
  endpoints: alertEndpoints,
  deliveries: alertDeliveries,
});
