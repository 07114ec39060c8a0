import { posix } from "node:path";
import { OPENAI_CHAT } from "@plimsoll/fold";
import { AgentHistory, agentName, type HistoryOwner, historyReading } from "../recordings/history.ts";
import {
  asArray,
  asCost,
  asCount,
  asObject,
  asText,
  asTime,
  type JsonObject,
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
import { firstText, isPrompt } from "../recordings/text.ts";

export const atifRecordings: Recordings = {
  place: "a folder of Harbor's jobs, or a trajectory.json",
  files: [/^trajectory(\.[\w.-]+)?\.json$/, /\.atif\.json$/],
  recognizes: (json) => /^ATIF-v\d/.test(asText(json.schema_version) ?? "") && Array.isArray(json.steps),
  reader: atifReader,
};

/** A trajectory of a file: that of the file itself, or one below it. */
interface Trajectory {
  path: string;
  session: string;
  /** Ids from the file's own trajectory down to this one. Empty for the file's own. */
  trail: readonly string[];
  history: AgentHistory;
}

/** Sub-agents deeper than this are not read. */
const MOST_LEVELS = 32;

/** Another file that a trajectory names, by the path of that file. */
interface Link {
  from: Trajectory;
  kind: "continuation" | "sub_agent";
}

/**
 * Reads ATIF, the Agent Trajectory Interchange Format, as of version 1.8. `prompt_tokens` is the whole prompt of a step, cached
 * tokens included. Sub-agents are trajectories inside the file or in files that it names, and a long run goes on in another file.
 */
function atifReader(options: ReaderOptions): HarnessReader {
  const skips = new Skips();
  const trajectories = new Map<string, Trajectory>();
  const links = new Map<string, Link>();
  /** The id of each file's own trajectory. */
  const fileIds = new Map<string, string>();

  const histories = () => [...trajectories.values()].map((one) => [one.history, ownerOf(one)] as const);
  return { read, ...historyReading(histories, options, skips) };

  function read(text: string, { path }: FileHint): SkipReason | undefined {
    const json = parseObject(text);
    if (json === undefined) return skips.count("unreadable");
    const session = asText(json.session_id) ?? asText(json.trajectory_id);
    if (session === undefined) return skips.count("no_session");
    fileIds.set(path, asText(json.trajectory_id) ?? session);
    const waiting: { json: JsonObject; trail: readonly string[] }[] = [{ json, trail: [] }];
    let turns = 0;
    for (const next of waiting) {
      const trajectory = trajectoryOf(path, session, next.trail);
      readSteps(trajectory, next.json, skips);
      turns += trajectory.history.turns.size;
      for (const [file, kind] of namedFiles(path, next.json)) links.set(file, { from: trajectory, kind });
      for (const [index, value] of asArray(next.json.subagent_trajectories).entries()) {
        const sub = asObject(value);
        const id = asText(sub?.trajectory_id) ?? String(index);
        if (sub === undefined || next.trail.length === MOST_LEVELS) skips.add("unreadable");
        else waiting.push({ json: sub, trail: [...next.trail, id] });
      }
    }
    return turns === 0 ? "no_usage" : undefined;
  }

  function trajectoryOf(path: string, session: string, trail: readonly string[]): Trajectory {
    const key = JSON.stringify([path, session, trail]);
    const found = trajectories.get(key) ?? { path, session, trail, history: new AgentHistory() };
    trajectories.set(key, found);
    return found;
  }

  /** Whose history a trajectory is, by the files that lead to it. Files that name each other in a circle are no sub-agents. */
  function ownerOf(trajectory: Trajectory): HistoryOwner {
    const agents = [...trajectory.trail];
    const seen = new Set([trajectory.path]);
    let root: Pick<Trajectory, "path" | "session"> = trajectory;
    let isOwnFile = false;
    for (let link = links.get(root.path); link !== undefined; link = links.get(root.path)) {
      if (seen.has(link.from.path)) break;
      seen.add(link.from.path);
      if (link.kind === "sub_agent") agents.unshift(fileIds.get(root.path)!);
      isOwnFile ||= link.kind === "sub_agent" && agents.length === 1;
      agents.unshift(...link.from.trail);
      root = link.from;
    }
    const { session } = root;
    if (agents.length === 0) return { session };
    const above = agents.slice(0, -1).join("/");
    return {
      session,
      agent: agentName(agents.join("/")),
      parent: above === "" ? "main" : agentName(above),
      // A file that was read before the one that names it is a session until then.
      ...(isOwnFile && trajectory.session !== session && { ownSession: trajectory.session }),
    };
  }
}

/** Files that a trajectory refers to, in its own folder. */
function* namedFiles(path: string, json: JsonObject): Generator<[path: string, kind: Link["kind"]]> {
  const beside = (file: string) => posix.join(posix.dirname(path), file);
  const continued = asText(json.continued_trajectory_ref);
  if (continued !== undefined) yield [beside(continued), "continuation"];
  for (const step of asArray(json.steps)) {
    for (const result of asArray(asObject(asObject(step)?.observation)?.results)) {
      for (const reference of asArray(asObject(result)?.subagent_trajectory_ref)) {
        const file = asText(asObject(reference)?.trajectory_path);
        if (file !== undefined) yield [beside(file), "sub_agent"];
      }
    }
  }
}

function readSteps({ history }: Trajectory, json: JsonObject, skips: Skips): void {
  const { model_name, tool_definitions } = asObject(json.agent) ?? {};
  const model = asText(model_name);
  const definitions = definitionTexts(asArray(tool_definitions)).map(measuredItem);
  history.texts.add("tools", { at: 0, items: definitions });
  let before = 0;
  for (const [index, value] of asArray(json.steps).entries()) {
    const step = asObject(value);
    if (step === undefined) continue;
    skips.count(readStep(history, step, model));
    const at = asTime(step.timestamp) ?? before;
    // What a compaction left is in the steps after it.
    if (!isCompaction(step)) history.texts.add(`step/${index}`, { at, items: textsOf(step) });
    before = at;
  }
}

const isCompaction = (step: JsonObject) =>
  asObject(asObject(step.extra)?.context_management)?.type === "compaction";

const ROLES: Readonly<Record<string, string>> = { system: "system", user: "user", agent: "assistant" };

function textsOf({ source, message, reasoning_content, tool_calls, observation }: JsonObject) {
  const calls = asArray(tool_calls).map(asObject);
  return [
    ...messageItems({
      role: ROLES[asText(source) ?? ""],
      content: [{ type: "thinking", text: reasoning_content }, ...partsOf(message)],
      tool_calls: calls.map((call) => ({
        ...{ id: call?.tool_call_id, name: call?.function_name, arguments: call?.arguments },
      })),
    }),
    ...asArray(asObject(observation)?.results).flatMap((value) => {
      const { source_call_id: call, content } = asObject(value) ?? {};
      // Without its call, it is of the only one, if at all.
      const id = asText(call) ?? (calls.length === 1 ? calls[0]?.tool_call_id : undefined) ?? "";
      return messageItems({ role: "tool", tool_call_id: id, content });
    }),
  ];
}

const partsOf = (message: unknown): unknown[] => (Array.isArray(message) ? message : [message]);

function readStep(
  history: AgentHistory,
  step: JsonObject,
  model: string | undefined,
): SkipReason | undefined {
  const at = asTime(step.timestamp);
  // A run that goes on in another file begins with steps of the file before.
  if (step.is_copied_context === true) return "copied";
  if (step.source === "user") {
    const prompt = firstText(step.message);
    if (at !== undefined && prompt !== undefined && isPrompt(prompt)) history.addPrompt(at, prompt);
    return undefined;
  }
  if (step.source === "system") {
    if (!isCompaction(step)) return undefined;
    if (at === undefined) return "no_time";
    return history.addMark({ id: `compacted/${at}`, at, event: { type: "compacted" } });
  }
  const id = `step/${asCount(step.step_id) ?? 0}/${at}`;
  // A step has no field for whether its calls failed.
  for (const [index, value] of asArray(step.tool_calls).entries()) {
    const call = asObject(value) ?? {};
    const fields = { id: asText(call.tool_call_id) ?? `${id}/${index}`, turn: id, input: call.arguments };
    if (at !== undefined) history.calls.add({ ...fields, at, name: asText(call.function_name) ?? "" });
  }
  const metrics = asObject(step.metrics);
  if (metrics === undefined) return "no_usage";
  // The counts of a step with several calls are sums.
  if ((asCount(step.llm_call_count) ?? 1) > 1) return "aggregate";
  if (at === undefined) return "no_time";
  const counted = recordedUsage(OPENAI_CHAT, metrics);
  if (typeof counted === "string") return counted;
  return history.addTurn({
    id,
    at,
    model: asText(step.model_name) ?? model,
    ...counted,
    costUsd: asCost(metrics.cost_usd),
  });
}
