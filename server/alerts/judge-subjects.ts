import type { LookInput } from "./look.ts";
import type { JudgedSubject } from "./plan-look.ts";

/** What the rules about sessions, harnesses and the project see. */
export async function judgeSubjects(_input: LookInput): Promise<JudgedSubject[]> {
  return [];
}
