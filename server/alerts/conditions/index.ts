import type { LookInput } from "../evaluation/evaluation.ts";
import type { JudgedSubject } from "../evaluation/plan-evaluation.ts";
import { judgeProject } from "./fleet.ts";
import { judgeHarnesses } from "./harness-silence.ts";
import { judgePolicies } from "./policy.ts";
import { judgeSessions } from "./silence.ts";

/** What the rules about sessions, harnesses and the project see. Reads nothing for conditions that no rule has. */
export async function judgeSubjects(input: LookInput): Promise<JudgedSubject[]> {
  return [
    ...(await judgeSessions(input)),
    ...(await judgeHarnesses(input)),
    ...(await judgePolicies(input)),
    ...(await judgeProject(input)),
  ];
}
