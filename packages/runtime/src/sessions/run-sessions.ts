import { fit, type Message } from "@plimsoll/guard";
import {
  Conversation,
  type ConversationOptions,
  type FitOptions,
  type ObserveFacts,
} from "@plimsoll/guard/conversation";
import type { SessionsState, SessionsStore } from "./state.ts";

/** The result of one inference call: the reply, the results of its tool calls, and its usage. */
export interface TurnResult<M> {
  messages: readonly M[];
  usage: unknown;
  facts?: ObserveFacts;
  /** True if the agent has finished its work. */
  done?: boolean;
}

/** Why {@link runSessions} ended. */
export type SessionsEnd =
  | "done"
  | "max_restarts"
  /** A restart was due, and `confirm` did not return true. */
  | "declined"
  | "turns"
  | "aborted";

/** Options of {@link runSessions}. */
export interface SessionsOptions<M>
  extends ConversationOptions<M>,
    Pick<FitOptions<M>, "say" | "confirm" | "summarize"> {
  /** Title of the session on the dashboard. */
  title?: string;
  /**
   * Returns the system prompt, such as the contents of `SYSTEM_PROMPT.md`. Called before each session, so an agent
   * may rewrite its own instructions.
   */
  loadSystemPrompt: () => Promise<string> | string;
  /** Creates the system message. Required for formats other than {@link Message}. */
  system?: (text: string) => M;
  /** The agent's first task. */
  start: M;
  /** Runs one inference call with the given messages. */
  turn: (input: {
    messages: readonly M[];
    session: number;
    signal: AbortSignal | undefined;
  }) => Promise<TurnResult<M>>;
  /**
   * Stores the run after each turn. If the process dies, another call with the same store continues with the session and its
   * number; the turn that was interrupted runs again. A run that ended with `done` starts again; any other run continues.
   */
  sessionStore?: SessionsStore<M>;
  /** Maximum number of turns over all sessions. Default: no limit. */
  maxTurns?: number;
  /** Ends the run before the next turn. */
  signal?: AbortSignal;
}

/** The options beside those of a conversation. */
const SESSIONS_OPTIONS = Object.keys({
  title: true,
  loadSystemPrompt: true,
  system: true,
  start: true,
  turn: true,
  sessionStore: true,
  maxTurns: true,
  signal: true,
  say: true,
  confirm: true,
  summarize: true,
} satisfies Record<Exclude<keyof SessionsOptions<unknown>, keyof ConversationOptions<unknown>>, true>);

/** The result of {@link runSessions}. */
export interface SessionsResult<M> {
  end: SessionsEnd;
  sessions: number;
  turns: number;
  /** The messages of the last session. */
  messages: readonly M[];
}

/**
 * Runs an agent over as many sessions as it needs. It masks at the soft threshold and sends one wind-down notice at the
 * hard threshold. Then it starts a new session with the reloaded system prompt, a restart marker and the last turns.
 * @throws {GuardError} `store_locked` if another process or call uses the store; `invalid_option`.
 * @throws Errors of `turn`, `loadSystemPrompt` and the store. The stored run stays valid.
 * @example
 * const { end, sessions } = await runSessions({
 *   identity: { harness: "ouro@host-1", session: "explore" },
 *   window: 32_768,
 *   loadSystemPrompt: () => readFile("SYSTEM_PROMPT.md", "utf8"),
 *   start: { role: "user", content: "Explore the repository." },
 *   turn: async ({ messages }) => callModelAndTools(messages),
 * });
 */
export async function runSessions<M = Message>(options: SessionsOptions<M>): Promise<SessionsResult<M>> {
  const release = await options.sessionStore?.claim?.();
  try {
    const stored = await options.sessionStore?.read();
    return await run(options, stored?.end === "done" ? undefined : stored);
  } finally {
    await release?.();
  }
}

async function run<M>(
  options: SessionsOptions<M>,
  stored: SessionsState<M> | undefined,
): Promise<SessionsResult<M>> {
  const system = options.system ?? ((content: string) => ({ role: "system", content }) as M);
  const whole = { ...options, ...(stored && { state: stored.guard }) };
  const guard = new Conversation<M>(whole, undefined, SESSIONS_OPTIONS);
  const { session } = guard.state;
  const prompt = system(withContinuity(await options.loadSystemPrompt(), session));
  let history: M[] = stored === undefined ? [prompt, options.start] : [prompt, ...stored.history.slice(1)];
  const save = async (end?: SessionsEnd) => {
    const turns = guard.state.allTurns;
    await options.sessionStore?.write({
      version: 1,
      guard: guard.snapshot(),
      history,
      turns,
      ...(end && { end }),
    });
  };
  guard.note({
    type: "session",
    status: "started",
    kind: "agent",
    ...(options.title === undefined ? {} : { title: options.title }),
  });
  const ended = async (end: SessionsEnd): Promise<SessionsResult<M>> => {
    guard.note({ type: "session", status: "ended", kind: "agent", reason: end });
    await save(end);
    return { end, sessions: guard.state.session, turns: guard.state.allTurns, messages: history };
  };
  for (let turn = stored?.turns ?? 0; ; turn++) {
    if (options.signal?.aborted === true) return ended("aborted");
    if (turn >= (options.maxTurns ?? Number.POSITIVE_INFINITY)) return ended("turns");
    const { say, confirm, summarize } = options;
    const prepared = await fit(guard, history, { say, confirm, summarize });
    let { messages } = prepared;
    if (prepared.actions.some((action) => action.type === "stop")) {
      for (const action of prepared.actions) if (action.type === "stop") options.say?.(action.say);
      return ended("max_restarts");
    }
    const restarted = prepared.actions.some((action) => action.type === "restart");
    if (!restarted && prepared.actions.some((action) => action.type === "confirm_restart")) {
      return ended("declined");
    }
    if (restarted) {
      const prompt = withContinuity(await options.loadSystemPrompt(), guard.state.session);
      // Replace the old system prompt; a format without system messages has already lost it.
      history = [system(prompt), ...(messages[0] === history[0] ? messages.slice(1) : messages)];
      guard.adopt();
      messages = guard.prepare(history).messages;
      await save();
    }
    const result = await options.turn({ messages, session: guard.state.session, signal: options.signal });
    guard.observe(result.usage, result.facts);
    history.push(...result.messages);
    if (result.done === true) return ended("done");
    await save();
  }
}

/** Adds a note to the system prompt, from the second session on, that explains why the context is empty. */
export function withContinuity(prompt: string, session: number): string {
  if (session === 1) return prompt;
  return (
    `${prompt}\n\nYou are in session #${session}. Earlier sessions ended because their context was full; your ` +
    `workspace files hold their progress. This prompt is read from SYSTEM_PROMPT.md at each start, and you may edit ` +
    `that file to instruct your later sessions.`
  );
}
