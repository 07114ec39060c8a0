import { textOf } from "../attributes.ts";
import { serviceFamily } from "../event-envelope.ts";
import { noEvent, type TelemetryDialect } from "../reading.ts";
import { callRecord, readGenAiSpan } from "./gen-ai.ts";

/**
 * Microsoft Agent Framework: GenAI conventions, with the agent's name on calls; `invoke_agent` has sums. Names:
 * microsoft/agent-framework python observability.py at 5eb3eb7, 2026.
 */
export const agentFramework: TelemetryDialect = {
  name: "agent-framework",
  speaks: ({ scope }) =>
    /^(agent_framework|Microsoft\.Agents\.AI|Experimental\.Microsoft\.Agents\.AI)\b/.test(scope),
  read(found) {
    const record = callRecord(found);
    if (record === undefined) return noEvent("reported_elsewhere");
    return readGenAiSpan(record, {
      family: serviceFamily(record.resource, "agent-framework"),
      agent: textOf(record.attributes, ["gen_ai.agent.name"]),
    });
  },
};
