import { KIMI } from "@plimsoll/fold";
import type { RecordedCall } from "../recordings/call-outcomes.ts";
import { type Dated, ValuesByTime } from "../recordings/dated.ts";
import {
  AgentHistory,
  agentName,
  CallHolders,
  type HistoryOwner,
  type HistoryTurn,
  historyReading,
} from "../recordings/history.ts";
import { NEXT_TURN } from "../recordings/history-texts.ts";
import {
  asArray,
  asCount,
  asNumber,
  asObject,
  asText,
  asTime,
  asTokens,
  type JsonObject,
  parseJson,
  parseObject,
} from "../recordings/json.ts";
import { definitionTexts, measuredItem, messageItems } from "../recordings/message-texts.ts";
import {
  type FileHint,
  type HarnessReader,
  type ReaderOptions,
  type Recordings,
  type SkipReason,
  Skips,
} from "../recordings/reader.ts";
import { recordedUsage } from "../recordings/recorded-usage.ts";
import { digest, fileStem, firstText, isPrompt } from "../recordings/text.ts";

interface KimiAgent {
  history: AgentHistory;
  owner: HistoryOwner;
  /** Requests that belong to no turn. */
  beside: HistoryTurn[];
  /** Whether a compaction was under way. */
  compacts: Dated<boolean>[];
  /** Calls of Kimi Code, each after the usage of the request that asked for it. */
  asked: RecordedCall[];
}

export const kimiRecordings: Recordings = {
  place: "~/.kimi/sessions, ~/.kimi-code/sessions, or a wire.jsonl",
  recognizes: isKimi,
  reader: kimiReader,
};

/**
 * Reads `wire.jsonl` of Kimi CLI and of Kimi Code. Kimi CLI reports each inference with the window size in a
 * `StatusUpdate`, and repeats those of a sub-agent in its parent's file. Kimi Code writes a `usage.record` for each
 * request; those that do not belong to a turn are not the context of the conversation. One within a compaction wrote its summary.
 * Its `/undo` takes back prompts with all that followed them.
 *
 * A fork begins with the lines of its parent. Kimi Code ends them with a mark. Kimi CLI does not, but its fork goes on when the parent
 * has ended (MoonshotAI/kimi-cli src/kimi_cli/session_fork.py).
 */
function kimiReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  /** By the session and the agent, which is empty for the main one. */
  const histories = new Map<string, KimiAgent>();
  const holders = new CallHolders();

  return { read, ...historyReading(ownedHistories, options, skips) };

  function read(text: string, { path }: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return skips.count("unreadable");
    const place = placeOf(path);
    const message = asObject(json.message);
    // Kimi Code writes messages too, without a timestamp.
    const isWire = message !== undefined && json.timestamp !== undefined;
    return skips.count(isWire ? readWire(place, json, message) : readRecord(place, json));
  }

  function entryOf({ session, agent }: Place): KimiAgent {
    const key = JSON.stringify([session, agent ?? ""]);
    const known = histories.get(key);
    if (known !== undefined) return known;
    const owner: HistoryOwner = { session, agent: agent === undefined ? undefined : agentName(agent) };
    const entry: KimiAgent = { history: new AgentHistory(), owner, beside: [], compacts: [], asked: [] };
    histories.set(key, entry);
    return entry;
  }

  function historyOf(place: Place): AgentHistory {
    return entryOf(place).history;
  }

  function readWire(place: Place, json: JsonObject, message: JsonObject): SkipReason | undefined {
    const seconds = asNumber(json.timestamp);
    const at = seconds === undefined ? undefined : asTime(seconds * 1_000);
    if (at === undefined) return "no_time";
    holdWireText(historyOf(place), message, at);
    return readMessage(place, message, at);
  }

  function readMessage(place: Place, message: JsonObject, at: number): SkipReason | undefined {
    const payload = asObject(message.payload) ?? {};
    switch (message.type) {
      case "SubagentEvent": {
        const event = asObject(payload.event);
        const agent =
          asText(payload.agent_id) ??
          asText(payload.parent_tool_call_id) ??
          asText(payload.task_tool_call_id);
        if (event === undefined || agent === undefined || event.type === "SubagentEvent") return "not_needed";
        return readMessage({ session: place.session, agent }, event, at);
      }
      case "ToolCall": {
        const call = asText(payload.id);
        const { name, arguments: given } = asObject(payload.function) ?? {};
        if (call === undefined) return "not_needed";
        // The counts of its answer come after it.
        const fields = { id: call, at, turn: undefined, name: asText(name) ?? "" };
        historyOf(place).calls.add({ ...fields, input: parseJson(asText(given) ?? "") });
        return "not_needed";
      }
      case "ToolResult": {
        const call = asText(payload.tool_call_id);
        const { is_error: isError } = asObject(payload.return_value) ?? {};
        if (call !== undefined && typeof isError === "boolean")
          historyOf(place).calls.addResult(call, isError ? "failed" : "ok");
        return "not_needed";
      }
      case "StatusUpdate":
        return readStatus(historyOf(place), payload, at);
      case "CompactionEnd":
        return historyOf(place).addMark({
          id: `compacted/${at}`,
          at,
          event: { type: "compacted", trigger: "auto" },
        });
      case "TurnBegin": {
        const history = historyOf(place);
        const prompt = firstText(payload.user_input);
        history.see(at);
        if (prompt !== undefined && isPrompt(prompt)) history.addPrompt(at, prompt);
        return "not_needed";
      }
      default:
        return "not_needed";
    }
  }

  /** A record of Kimi Code. `time` is epoch ms. */
  function readRecord(place: Place, json: JsonObject): SkipReason | undefined {
    const at = asTime(json.time);
    if (at === undefined) return json.type === "usage.record" ? "no_time" : "not_needed";
    const { history, owner, beside, compacts, asked } = entryOf(place);
    history.see(at);
    holdRecordText(history, json, at);
    if (asText(json.type)?.startsWith("full_compaction."))
      compacts.push({ at, value: json.type === "full_compaction.begin" });
    switch (json.type) {
      case "forked":
        owner.forkedAt = Math.max(at, owner.forkedAt ?? at);
        return "not_needed";
      case "usage.record": {
        const counts = asObject(json.usage);
        if (counts === undefined) return "no_usage";
        const counted = recordedUsage(KIMI, counts);
        if (typeof counted === "string") return counted;
        const id = `usage/${at}/${digest(JSON.stringify(counted.usage))}`;
        const model = asText(asText(json.model)?.replace(/^kimi-code\//, ""));
        const turn = { id, at, model, ...counted };
        if (json.usageScope !== "session") return history.addTurn(turn);
        beside.push(turn);
        return "not_needed";
      }
      case "full_compaction.begin":
        history.triggers.push({ at, value: json.source === "manual" ? "manual" : "auto" });
        return "not_needed";
      case "context.append_loop_event": {
        const { type, toolCallId, name, args, result } = asObject(json.event) ?? {};
        const call = asText(toolCallId);
        if (call === undefined) return "not_needed";
        if (type === "tool.call")
          asked.push({ id: call, at, turn: undefined, name: asText(name) ?? "", input: args });
        else if (type === "tool.result")
          history.calls.addResult(call, asObject(result)?.isError === true ? "failed" : "ok");
        return "not_needed";
      }
      case "context.apply_compaction":
        // Its counts are those of the messages, without system prompt and tools.
        return history.addMark({ id: `compacted/${at}`, at, event: { type: "compacted" } });
      case "context.clear":
        return history.addMark({ id: `cleared/${at}`, at, event: { type: "cleared", reason: "/clear" } });
      case "context.undo": {
        const observations = asCount(json.count) ?? 1;
        return history.addMark({ id: `undone/${at}`, at, event: { type: "masked", observations } });
      }
      case "micro_compaction.apply":
        // It names a place in the history, before which results of tools are no longer sent.
        return history.addMark({ id: `masked/${at}`, at, event: { type: "masked", observations: 0 } });
      case "turn.prompt": {
        const prompt = firstText(json.input);
        if (prompt !== undefined && isPrompt(prompt)) history.addPrompt(at, prompt);
        return "not_needed";
      }
      default:
        return "not_needed";
    }
  }

  function ownedHistories() {
    const touched = [...histories.values()].filter(({ history }) => history.isTouched);
    for (const { history, beside, compacts, asked } of touched) {
      const turnAt = new ValuesByTime([...history.turns.values()].map(({ at, id }) => ({ at, value: id })));
      for (const call of asked.splice(0)) history.calls.add({ ...call, turn: turnAt.at(call.at) });
      const isUnderWay = new ValuesByTime(compacts);
      for (const turn of beside)
        if (isUnderWay.at(turn.at) === true) history.addTurn({ ...turn, isCompaction: true });
    }
    const order = touched.sort(
      (a, b) => a.history.lastAt - b.history.lastAt || (a.owner.session < b.owner.session ? -1 : 1),
    );
    for (const { history, owner } of order) {
      const copiedAt = holders.lastCopied(history, owner, owner.forkedAt);
      if (copiedAt !== undefined) owner.forkedAt = copiedAt + 1;
    }
    return [...histories.values()].map(({ history, owner }) => [history, owner] as const);
  }
}

/** What Kimi CLI writes before the counts of an answer. Sub-agents have files of their own; the summary of a compaction is in none. */
function holdWireText({ texts }: AgentHistory, { type, payload }: JsonObject, at: number): void {
  const data = asObject(payload) ?? {};
  const id = `${at}/${digest(JSON.stringify([type, data]))}`;
  if (type === "TurnBegin" || type === "SteerInput")
    texts.add(id, { at, items: messageItems({ role: "user", content: data.user_input }) });
  else if (type === "ContentPart")
    texts.add(id, { at, items: messageItems({ role: "assistant", content: [data] }), turn: NEXT_TURN });
  else if (type === "ToolCall")
    texts.add(id, { at, items: messageItems({ role: "assistant", tool_calls: [data] }), turn: NEXT_TURN });
  else if (type === "ToolResult") {
    const content = asObject(data.return_value)?.output;
    texts.add(id, { at, items: messageItems({ role: "tool", tool_call_id: data.tool_call_id, content }) });
  }
}

/** Kimi Code counts a request before the step ends that it is of. It keeps some prompts beside a summary, and does not say which. */
function holdRecordText({ texts }: AgentHistory, json: JsonObject, at: number): void {
  switch (json.type) {
    case "config.update":
      texts.add("system", { at, items: messageItems({ role: "system", content: json.systemPrompt }) });
      break;
    case "llm.tools_snapshot":
      texts.add("tools", { at, items: definitionTexts(asArray(json.tools)).map(measuredItem) });
      break;
    case "context.append_message": {
      const message = asObject(json.message) ?? {};
      const isSummary = asObject(message.origin)?.kind === "compaction_summary";
      const id = `${at}/${digest(JSON.stringify(message))}`;
      if (!isSummary) texts.add(id, { at, items: messageItems(message) });
      break;
    }
    case "context.append_loop_event":
      holdStepText(texts, asObject(json.event) ?? {}, at);
      break;
    case "context.apply_compaction": {
      const content = asText(json.contextSummary) ?? json.summary;
      const items = messageItems({ role: "user", content }, "summary");
      texts.add(`summary/${at}`, { at, items: items.map(({ text: _, ...item }) => item) });
      break;
    }
    case "context.clear":
      texts.replace(at);
      break;
    case "context.undo":
      texts.lose(at);
  }
}

function holdStepText(texts: AgentHistory["texts"], event: JsonObject, at: number): void {
  const id = asText(event.uuid) ?? "";
  const { stepUuid, toolCallId: call } = event;
  const turn = asText(stepUuid) ?? NEXT_TURN;
  if (event.type === "step.end") texts.endStep(id, at);
  else if (event.type === "content.part")
    texts.add(id, { at, items: messageItems({ role: "assistant", content: [event.part] }), turn });
  else if (event.type === "tool.call") {
    const called = { id: call, name: event.name, args: event.args };
    texts.add(id, { at, items: messageItems({ role: "assistant", tool_calls: [called] }), turn });
  } else if (event.type === "tool.result") {
    const content = asObject(event.result)?.output;
    texts.add(`result/${asText(call)}`, {
      ...{ at, items: messageItems({ role: "tool", tool_call_id: call, content }) },
    });
  }
}

function readStatus(history: AgentHistory, payload: JsonObject, at: number): SkipReason | undefined {
  const counts = asObject(payload.token_usage);
  if (counts === undefined) return "no_usage";
  const counted = recordedUsage(KIMI, counts);
  if (typeof counted === "string") return counted;
  const id = asText(payload.message_id) ?? `status/${at}`;
  return history.addTurn({ id, at, ...counted, window: asTokens(payload.max_context_tokens) });
}

interface Place {
  session: string;
  agent?: string | undefined;
}

/** `<session>/wire.jsonl`, or that of an agent: `<session>/agents/<agent>/` or `<session>/subagents/<agent>/`. */
function placeOf(path: string): Place {
  const folders = path.split("/").slice(0, -1);
  const kind = folders.at(-2);
  const session = folders.at(-3);
  if ((kind === "agents" || kind === "subagents") && session !== undefined) {
    const agent = folders.at(-1);
    return { session, agent: agent === "main" ? undefined : agent };
  }
  return { session: folders.at(-1) ?? fileStem(path) };
}

function isKimi(json: JsonObject): boolean {
  if (json.type === "metadata") return asText(json.protocol_version) !== undefined;
  if (json.type === "usage.record") return asObject(json.usage) !== undefined;
  const message = asObject(json.message);
  return (
    typeof json.timestamp === "number" &&
    asText(message?.type) !== undefined &&
    asObject(message?.payload) !== undefined
  );
}
