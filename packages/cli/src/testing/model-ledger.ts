import {
  type ModelRequest,
  type ScriptedCall,
  startScriptedModel,
} from "../../../guard/src/testing/scripted-model/index.ts";
import type { HarnessTrial } from "./harness-trials.ts";
import { shellCall } from "./real-harness.ts";

/** A prompt that a harness sent to its model. Tokens as the model counted them. */
export interface LedgerEntry {
  agent: "main" | "sub";
  /** `aside` is a call beside the conversation, such as one for a title. */
  purpose: "turn" | "compaction" | "aside";
  model: string;
  tokens: number;
}

/** A model that counts what it is sent. */
export interface ModelLedger {
  url: string;
  entries: readonly LedgerEntry[];
  /** Call before each prompt of a person. */
  begin(): void;
  close(): Promise<void>;
}

/** Takes longer than the reports of one call may lie apart: both have the end of the call, or both that of its tools. */
const LONG_TOOL = "sleep 11";
const AFTER = 20_000;
/** Tokens of a call beside the conversation. */
export const ASIDE = 77;

/** What every harness asks of the model that writes its summary. */
function asksForSummary({ api, messages }: ModelRequest): boolean {
  const last = JSON.stringify(messages.at(-1) ?? {});
  // Notes of finished agents have a summary too, and so has a history that was compacted. Claude Code adds notes after a prompt.
  const prompt = JSON.stringify(messages.slice(api === "anthropic" ? -3 : -1));
  if (/task-notification/.test(last) || /\bAgain\b/.test(prompt)) return false;
  return /summar|state_snapshot|next LLM|CHECKPOINT COMPACTION/i.test(last);
}

/** Qwen Code has agents of its own for memories, and asks for what a person may say next. Without tools, a harness asks for a title. */
const isBeside = ({ body, messages }: ModelRequest): boolean =>
  /managed memory extraction subagent|Reply with ONLY the suggestion/.test(
    JSON.stringify([messages[0], messages.at(-1), body.system ?? ""]),
  );

/**
 * A model whose main agent runs a long tool, has a sub-agent do something and ends above its own line. Each call has a level of
 * its own.
 */
export async function startLedger(trial: HarnessTrial): Promise<ModelLedger> {
  const { thread: told, end, first, compacts, prompt, high } = trial;
  const entries: LedgerEntry[] = [];
  let thread = "";
  let steps = 0;
  const isAbove = () => entries.some(({ tokens }) => tokens === high);
  const model = await startScriptedModel((request) => {
    const messages = JSON.stringify(request.messages);
    const shell = shellCall(request);
    const answer = (entry: Omit<LedgerEntry, "model">, reply: { text?: string; calls?: ScriptedCall[] }) => {
      entries.push({ ...entry, model: request.model });
      return { text: "Done.", ...reply, promptTokens: entry.tokens };
    };
    if (compacts !== "never" && isAbove() && asksForSummary(request)) {
      const tokens = high + 500 + entries.length;
      const text = "<summary>Done.</summary><state_snapshot>Done.</state_snapshot>";
      return answer({ agent: "main", purpose: "compaction", tokens }, { text });
    }
    if (shell === undefined || isBeside(request))
      return answer({ agent: "main", purpose: "aside", tokens: ASIDE }, {});
    const isMain = isAbove() || messages.includes(prompt);
    const agent = isMain ? "main" : "sub";
    const earlier = entries.filter((entry) => entry.agent === agent && entry.purpose === "turn").length;
    if (isAbove())
      return answer(
        { agent, purpose: "turn", tokens: (compacts === "never" ? high : AFTER) + 1_000 * earlier },
        {},
      );
    const tokens = (isMain ? 12_000 : 42_000) + 1_000 * earlier;
    if (!isMain) {
      const call = earlier % 2 === 0 ? shell : end;
      return answer({ agent, purpose: "turn", tokens }, call === undefined ? {} : { calls: [call] });
    }
    thread = told?.exec(messages)?.[1] ?? thread;
    const calls = [shellCall(request, LONG_TOOL), ...first.calls(thread)];
    const isLast = steps === calls.length;
    // A harness that compacts between two calls goes on with a tool.
    const call = isLast && compacts === "between calls" ? shell : calls[steps];
    steps += 1;
    return answer(
      { agent, purpose: "turn", tokens: isLast ? high : tokens },
      call === undefined ? {} : { calls: [call] },
    );
  });
  return {
    url: model.url,
    entries,
    begin() {
      steps = 0;
    },
    close: () => model.close(),
  };
}
