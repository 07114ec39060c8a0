import { z } from "zod";
import { AlertMatcher } from "../alerts/alert-matchers.ts";
import { ALERT_PRESET_NAMES } from "../alerts/alert-presets.ts";
import { AlertRule } from "../alerts/alert-rule.ts";
import { ALERT_SEVERITIES, AlertFacts } from "../alerts/notification.ts";
import { callText, cursorText, rowId, rowNumber } from "./parameters.ts";

const time = z.iso.datetime({ offset: true });
const id = rowId;

/** A saved rule. */
export const AlertRuleView = z.object({
  id,
  /** Rises with every change. Send it with the next one. */
  version: z.number().int(),
  enabled: z.boolean(),
  rule: AlertRule,
  /** Open alerts of the rule. */
  pending: z.number().int(),
  firing: z.number().int(),
  /** Who saved it last: `person`, `browser`, `local` (the command line), `key` or `server`. */
  actor: z.string(),
  actor_name: z.string().nullable(),
  created_at: time,
  updated_at: time,
});
export type AlertRuleView = z.infer<typeof AlertRuleView>;

export const AlertRuleList = z.object({ rules: z.array(AlertRuleView) });
export type AlertRuleList = z.infer<typeof AlertRuleList>;

export const AlertRuleQuery = z.object({ id });

export const CreateAlertRuleCall = z.object({
  /** Checked by `readAlertRule`, which names every mistake. */
  rule: z.unknown(),
  enabled: z.boolean().default(true),
});

export const SaveAlertRuleCall = z.object({
  id,
  /** The version that was changed. */
  expected: rowNumber.min(1),
  rule: z.unknown(),
});

export const SwitchAlertRuleCall = z.object({
  id,
  expected: rowNumber.min(1),
  enabled: z.boolean(),
});
export const RemoveAlertRuleCall = z.object({ id });
export const AlertPresetCall = z.object({
  preset: z.enum(ALERT_PRESET_NAMES),
  endpoints: AlertRule.shape.endpoints,
});

/** Rules as text. */
export const AlertRuleExport = z.object({ yaml: z.string() });
export type AlertRuleExport = z.infer<typeof AlertRuleExport>;

export const ImportAlertRulesCall = z.object({
  /** YAML or JSON: `{rules: [...]}`. A rule replaces the saved one of the same name. */
  yaml: callText(1_000_000),
  /** Whether saved rules that the text does not name are deleted. */
  replace: z.boolean().default(false),
});
export const AlertRuleImport = z.object({
  created: z.number().int(),
  changed: z.number().int(),
  deleted: z.number().int(),
  unchanged: z.number().int(),
});
export type AlertRuleImport = z.infer<typeof AlertRuleImport>;

/** Why the receivers of an alert are not told. */
export const ALERT_MUTES = ["silenced", "inhibited"] as const;

export const AlertView = AlertFacts.extend({
  phase: z.enum(["firing", "no_data", "resolved"]),
  session_id: id.nullable(),
  agent_id: id.nullable(),
  /** Of an alert that fires. */
  muted: z.enum(ALERT_MUTES).nullable(),
});
export type AlertView = z.infer<typeof AlertView>;

/** `unhandled` ones are open, and neither acknowledged nor muted. */
export const ALERT_LISTS = ["open", "unhandled", "acknowledged", "muted", "ended"] as const;

export const AlertsQuery = z.object({
  /** Open ones by default, the worst first; `ended` lists the others, newest first. */
  state: z.enum(ALERT_LISTS).default("open"),
  severity: z.enum(ALERT_SEVERITIES).optional(),
  rule: id.optional(),
  session: id.optional(),
  /** Part of a harness, a session, an agent, a model or the name of a rule. */
  q: callText(200).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: cursorText,
});
export type AlertsQuery = z.infer<typeof AlertsQuery>;

export const AlertPage = z.object({
  items: z.array(AlertView),
  /** Open alerts in all, whatever the query selects. */
  firing: z.number().int(),
  /** Alerts that the query selects, listed or not. Null for those that have ended. */
  selected: z.number().int().nullable(),
  /** Endpoints that the last message did not reach, and those that were paused for it. */
  failing_endpoints: z.number().int(),
  next_cursor: z.string().nullable(),
});
export type AlertPage = z.infer<typeof AlertPage>;

/** When the rules fired in the last 24 h. */
export const AlertTimeline = z.object({
  from: time,
  step_ms: z.number().int(),
  rules: z.array(
    z.object({
      id,
      /** Alerts that were open in each step, oldest first. */
      firing: z.array(z.number().int()),
    }),
  ),
});
export type AlertTimeline = z.infer<typeof AlertTimeline>;

export const AcknowledgeAlertsCall = z.object({ ids: z.array(id).min(1).max(500) });
/** Those that were open and not acknowledged before. */
export const AcknowledgedAlerts = z.object({ acknowledged: z.number().int() });
export type AcknowledgedAlerts = z.infer<typeof AcknowledgedAlerts>;

export const AlertSilenceView = z.object({
  id,
  matchers: z.array(AlertMatcher),
  comment: z.string(),
  state: z.enum(["pending", "active", "ended"]),
  starts_at: time,
  ends_at: time,
  actor: z.string(),
  actor_name: z.string().nullable(),
  created_at: time,
});
export type AlertSilenceView = z.infer<typeof AlertSilenceView>;
export const AlertSilenceList = z.object({ silences: z.array(AlertSilenceView) });
export type AlertSilenceList = z.infer<typeof AlertSilenceList>;

export const CreateAlertSilenceCall = z
  .object({
    matchers: z.array(AlertMatcher).min(1, "write at least one matcher").max(20),
    comment: callText(500, z.string().trim().min(3, "say why, in a few words")),
    /** Now by default. */
    starts_at: time.optional(),
    ends_at: time,
  })
  .refine(
    ({ starts_at, ends_at }) => starts_at === undefined || Date.parse(starts_at) < Date.parse(ends_at),
    {
      path: ["ends_at"],
      message: "must be after starts_at",
    },
  );
export const EndAlertSilenceCall = z.object({ id });

export const AlertBacktestCall = z.object({
  rule: z.unknown(),
  from: time,
  to: time,
});

/** What a rule would have told over recorded history. */
export const AlertBacktest = z.object({
  count: z.number().int(),
  longest_ms: z.number().int(),
  /** How many ended by themselves within a minute. */
  brief: z.number().int(),
  /** Agents that the scope selects, and their turns. */
  examined: z.object({ agents: z.number().int(), turns: z.number().int() }),
  /** False if the history was too long to be examined in full. */
  complete: z.boolean(),
  /** Newest first; at most 200. */
  firings: z.array(
    z.object({
      harness: z.string(),
      session: z.string(),
      session_id: id,
      agent: z.string(),
      agent_id: id,
      fired_at: time,
      /** Null if it was still firing at the end. */
      ended_at: time.nullable(),
      why: z.string(),
      /** Path on the server that opens the session at that turn. */
      path: z.string(),
    }),
  ),
});
export type AlertBacktest = z.infer<typeof AlertBacktest>;
