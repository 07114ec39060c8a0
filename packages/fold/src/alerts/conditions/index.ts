import type {
  AgentCondition,
  AgentConditionType,
  AlertCondition,
  AlertConditionType,
} from "@plimsoll/protocol/alerts";
import type { AgentConditionKind, ConditionKind } from "../condition-kind.ts";
import { backlog } from "./backlog.ts";
import { boundariesPerHour } from "./boundaries-per-hour.ts";
import { cacheCold } from "./cache-cold.ts";
import { cacheLost } from "./cache-lost.ts";
import { cacheReadShare } from "./cache-read-share.ts";
import { costRate } from "./cost-rate.ts";
import { fleet } from "./fleet.ts";
import { forecast } from "./forecast.ts";
import { harnessSilence } from "./harness-silence.ts";
import { load } from "./load.ts";
import { pastLine } from "./past-line.ts";
import { policy } from "./policy.ts";
import { quotaForecast } from "./quota-forecast.ts";
import { quotaShare } from "./quota-share.ts";
import { rejectedEvents } from "./rejected-events.ts";
import { restartLimit } from "./restart-limit.ts";
import { silence } from "./silence.ts";
import { smallReclaim } from "./small-reclaim.ts";
import { thrash } from "./thrash.ts";
import { threshold } from "./threshold.ts";
import { tokens } from "./tokens.ts";
import { truncationSuspected } from "./truncation-suspected.ts";
import { unexplainedFall } from "./unexplained-fall.ts";
import { utilization } from "./utilization.ts";
import { windowSuspect } from "./window-suspect.ts";
import { windowUnknown } from "./window-unknown.ts";

type Kinds = {
  readonly [Type in AlertConditionType]: Type extends AgentConditionType
    ? AgentConditionKind<Type>
    : ConditionKind<Type>;
};

/** Every type of condition, in the order in which the form offers them. */
const CONDITIONS: Kinds = {
  past_line: pastLine,
  threshold,
  load,
  utilization,
  tokens,
  forecast,
  cache_read_share: cacheReadShare,
  cache_lost: cacheLost,
  cache_cold: cacheCold,
  unexplained_fall: unexplainedFall,
  small_reclaim: smallReclaim,
  thrash,
  boundaries_per_hour: boundariesPerHour,
  restart_limit: restartLimit,
  window_suspect: windowSuspect,
  window_unknown: windowUnknown,
  truncation_suspected: truncationSuspected,
  silence,
  harness_silence: harnessSilence,
  policy,
  cost_rate: costRate,
  quota_share: quotaShare,
  quota_forecast: quotaForecast,
  rejected_events: rejectedEvents,
  fleet,
  backlog,
};

export const CONDITION_TYPES = Object.keys(CONDITIONS) as AlertConditionType[];

// TypeScript does not see that a condition fits the kind that its own type names.
export const conditionKind = ({ type }: Pick<AlertCondition, "type">): ConditionKind<AlertConditionType> =>
  CONDITIONS[type] as ConditionKind<AlertConditionType>;
export const agentConditionKind = ({ type }: AgentCondition): AgentConditionKind<AgentConditionType> =>
  CONDITIONS[type] as AgentConditionKind<AgentConditionType>;
