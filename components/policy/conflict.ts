import type { WholePolicy } from "@plimsoll/protocol/api";
import type { PolicyBody } from "@plimsoll/protocol/policy";

/** What somebody else saved, and why. */
export interface Conflict extends WholePolicy {
  reason: string;
}

/** The version that somebody else saved; undefined if saving failed for another reason. */
export function conflictOf(error: unknown): Conflict | undefined {
  const data = (error as { data?: { error?: { code?: string; details?: unknown } } } | null)?.data?.error;
  if (data?.code !== "policy_changed") return undefined;
  const details = data.details as {
    generation: number;
    hash: string;
    theirs: PolicyBody;
    theirs_text: string | null;
    reason: string;
  };
  return {
    generation: details.generation,
    hash: details.hash,
    policy: details.theirs,
    text: details.theirs_text,
    reason: details.reason,
  };
}
