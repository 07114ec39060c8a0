import { judgeHarnesses } from "./judge-harnesses.ts";
import { judgePolicies } from "./judge-policies.ts";
import { judgeProject } from "./judge-project.ts";
import { judgeSessions } from "./judge-sessions.ts";
import type { LookInput } from "./look.ts";
import type { JudgedSubject } from "./plan-look.ts";

/** What the rules about sessions, harnesses and the project see. Reads nothing for conditions that no rule has. */
export async function judgeSubjects(input: LookInput): Promise<JudgedSubject[]> {
  return [
    ...(await judgeSessions(input)),
    ...(await judgeHarnesses(input)),
    ...(await judgePolicies(input)),
    ...(await judgeProject(input)),
  ];
}
