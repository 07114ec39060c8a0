import { subagentTurn, turnOf } from "@plimsoll/harnesses/claude-code/status-turn";
import { readSubagents } from "@plimsoll/harnesses/claude-code/subagent-status";
import { projectOf, readStatus } from "@plimsoll/harnesses/status-line";
import { sendReport } from "../background-report.ts";
import type { Env } from "../home-folder.ts";
import { machineOf } from "../origin/machine.ts";
import { reportedPlace } from "../origin/repository.ts";
import { claudeSettings, parsed, targetIn } from "./claude-settings.ts";
import { tailOf } from "./recording-tail.ts";

/**
 * Reports the turn that a status describes, or those of its sub-agents. A report that fails is lost: the next turn reports the level again.
 * @returns whether the server has it
 */
export async function reportStatus(input: string, env: Env): Promise<boolean> {
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
  return target !== undefined && known.length > 0 && (await sendReport(target, known));
}
