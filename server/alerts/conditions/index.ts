import type { AgentConditionType, AlertConditionType } from "@plimsoll/protocol/alerts";
import type { JudgedSubject, JudgeInput } from "../judged-subject.ts";
import type { RuleOf } from "../rule-book.ts";
import { judgeBacklog } from "./backlog.ts";
import { judgeCacheCold } from "./cache-cold.ts";
import { judgeCostRate } from "./cost-rate.ts";
import { judgeFleet } from "./fleet.ts";
import { judgeHarnessSilence } from "./harness-silence.ts";
import { judgePolicies } from "./policy.ts";
import { judgeQuotaForecast, judgeQuotaShare } from "./quotas.ts";
import { judgeRejectedEvents } from "./rejected-events.ts";
import { judgeSilence } from "./silence.ts";

type JudgedType = Exclude<AlertConditionType, AgentConditionType>;

/** Every type of condition that reads tables of its own. Those about one agent are judged by what is known of the agent. */
const JUDGES: {
  readonly [Type in JudgedType]: (
    input: JudgeInput,
    rules: readonly RuleOf<Type>[],
  ) => Promise<JudgedSubject[]>;
} = {
  cache_cold: judgeCacheCold,
  silence: judgeSilence,
  harness_silence: judgeHarnessSilence,
  policy: judgePolicies,
  fleet: judgeFleet,
  cost_rate: judgeCostRate,
  quota_share: judgeQuotaShare,
  quota_forecast: judgeQuotaForecast,
  rejected_events: judgeRejectedEvents,
  backlog: judgeBacklog,
};

/** What the rules about sessions, harnesses and the project see. Reads nothing for conditions that no rule has. */
export async function judgeSubjects(input: JudgeInput): Promise<JudgedSubject[]> {
  const judged: JudgedSubject[] = [];
  for (const type of Object.keys(JUDGES) as JudgedType[]) judged.push(...(await judgeType(input, type)));
  return judged;
}

const judgeType = <Type extends JudgedType>(input: JudgeInput, type: Type): Promise<JudgedSubject[]> =>
  JUDGES[type](input, input.book.ofType(type));
