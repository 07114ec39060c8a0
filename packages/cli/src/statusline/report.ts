import { claudeAccount } from "@plimsoll/harnesses/claude-code/account";
import { subagentTurn, turnOf } from "@plimsoll/harnesses/claude-code/status-turn";
import { readSubagents } from "@plimsoll/harnesses/claude-code/subagent-status";
import { quotaId } from "@plimsoll/harnesses/quota";
import { projectOf, readStatus, type StatusSample } from "@plimsoll/harnesses/status-line";
import { sendReport } from "../background-report.ts";
import type { Env } from "../home-folder.ts";
import { machineOf } from "../origin/machine.ts";
import { reportedPlace } from "../origin/repository.ts";
import { claudeConfigFile, claudeSettings, parsed, targetIn, textOf } from "./claude-settings.ts";
import { tailOf } from "./recording-tail.ts";

/**
 * Reports the turn that a status describes, or those of its sub-agents, and the limits of the account. A report that fails is lost: the next turn reports the level again.
 * @returns whether the server has it
 */
export async function reportStatus(input: string, env: Env, now = Date.now()): Promise<boolean> {
  const value = parsed(input);
  const host = machineOf(env);
  const subagents = readSubagents(value);
  const sample = readStatus(value);
  const place = { windowTokens: undefined, project: projectOf(value) };
  const turns =
    subagents === undefined
      ? [sample?.transcript === undefined ? undefined : turnOf(sample, tailOf(sample.transcript), host)]
      : subagents.map((one) =>
          one.transcript === undefined ? undefined : subagentTurn(one, tailOf(one.transcript), host),
        );
  const named = reportedPlace(place.project, env);
  const known = turns
    .filter((turn) => turn !== undefined)
    .map((turn) => ({ ...turn, machine: host, ...named }));
  const target = targetIn(claudeSettings(sample ?? place, env).settings);
  const events = [...known, ...quotaEvents(sample, env, now)];
  return target !== undefined && events.length > 0 && (await sendReport(target, events));
}

function quotaEvents(sample: StatusSample | undefined, env: Env, now: number): object[] {
  if (sample === undefined || sample.quotas.length === 0) return [];
  const machine = machineOf(env);
  const account = claudeAccount(parsed(textOf(claudeConfigFile(env)) ?? ""));
  return sample.quotas.map((reading) => ({
    ...{ type: "quota", id: quotaId(reading, now), at: now, harness: `${sample.family}@${machine}`, machine },
    ...(account !== undefined && { account }),
    ...reading,
  }));
}
