import { exact } from "@plimsoll/protocol/pure";
import { type AgentSight, atLevel } from "../agent-sight.ts";
import { type AgentConditionKind, counted } from "../condition-kind.ts";

const lostIn = ({ caches }: AgentSight, turns: number) =>
  caches.slice(0, turns).reduce((sum, { lost }) => sum + lost, 0);

export const cacheLost: AgentConditionKind<"cache_lost"> = {
  title: "cache lost",
  phrase: ({ at_least, turns }) =>
    `${exact(at_least)} tokens or more cached again within ${counted(turns, "turn")}, without a fall or a pause`,
  fields: {
    at_least: { label: "Tokens cached again, at least", kind: "number" },
    turns: { label: "Within turns", kind: "number" },
  },
  start: { type: "cache_lost", at_least: 100_000, turns: 10 },
  advice:
    "Open Insights: it names what changed in the prompt, such as the model, the tools or an early message.",
  spansWindows: false,
  needs: ({ turns }) => ({ cacheTurns: turns }),
  find: ({ at_least, turns }, sight) => atLevel(sight, lostIn(sight, turns) >= at_least),
  why: ({ turns }, sight) =>
    `${exact(lostIn(sight, turns))} tokens were cached again within ${counted(turns, "turn")}, without a fall or a pause`,
};
