import { hostname } from "node:os";
import { sendReport } from "../background-report.ts";
import type { Env } from "../connection.ts";
import { claudeSettings, parsed, targetIn } from "./claude-settings.ts";
import { isSame, lastCall, tailOf } from "./recorded-calls.ts";
import { type CallUsage, projectOf, readStatus, type StatusSample } from "./status-input.ts";
import { readSubagents, type SubagentSample } from "./subagent-status.ts";

/**
 * The turn that a status describes. It has the id that Claude Code's telemetry gives the call, so both are one turn, which
 * gets the size of the window from here. Undefined if the recording does not prove which call it was.
 */
export function turnOf(sample: StatusSample, recording: string, host: string): { id: string } | undefined {
  const { session, model, usage, windowTokens } = sample;
  if (usage === undefined || model === undefined || windowTokens === undefined) return undefined;
  const call = lastCall(recording, false);
  if (call === undefined || !isSame(call.usage, usage)) return undefined;
  const turn = {
    type: "turn",
    witness: "status_line",
    id: call.id,
    at: call.at,
    harness: `claude-code@${host}`,
    session,
    model: call.model ?? model,
    context_window: windowTokens,
    usage: usageOf(usage),
  };
  return turn;
}

/**
 * The latest turn of a sub-agent, with the id that a span of its call has. Undefined if the recording has no call, or the size of
 * its window is unknown.
 */
export function subagentTurn(
  { id, session, parent, windowTokens }: SubagentSample,
  recording: string,
  host: string,
): { id: string } | undefined {
  const call = lastCall(recording, true);
  if (call?.model === undefined || windowTokens === undefined) return undefined;
  const turn = {
    type: "turn",
    witness: "status_line",
    id: call.id,
    at: call.at,
    harness: `claude-code@${host}`,
    session,
    agent: `agent-${id}`,
    parent_agent: parent === undefined ? "main" : `agent-${parent}`,
    model: call.model,
    context_window: windowTokens,
    usage: usageOf(call.usage),
  };
  return turn;
}

const usageOf = ({ input, cacheRead, cacheWrite, output }: CallUsage) => ({
  input_tokens: input,
  cache_read_tokens: cacheRead,
  cache_write_tokens: cacheWrite,
  output_tokens: output,
  basis: "exclusive",
});

/**
 * Reports the turn that a status describes, or those of its sub-agents. A report that fails is lost: the next turn reports the level again.
 * @returns whether the server has it
 */
export async function reportStatus(input: string, env: Env): Promise<boolean> {
  const value = parsed(input);
  const host = hostname();
  const subagents = readSubagents(value);
  const sample = readStatus(value);
  const place = { windowTokens: undefined, project: projectOf(value) };
  const turns =
    subagents === undefined
      ? [sample?.transcript === undefined ? undefined : turnOf(sample, tailOf(sample.transcript), host)]
      : subagents.map((one) =>
          one.transcript === undefined ? undefined : subagentTurn(one, tailOf(one.transcript), host),
        );
  const known = turns.filter((turn) => turn !== undefined);
  const target = targetIn(claudeSettings(sample ?? place, env).settings);
  return target !== undefined && known.length > 0 && (await sendReport(target, known));
}
