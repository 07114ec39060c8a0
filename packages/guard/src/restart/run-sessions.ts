import type { FitOptions } from "../fit.ts";
import { fit } from "../fit.ts";
import { ContextGuard } from "../guard.ts";
import type { GuardOptions, ObserveFacts } from "../types.ts";
import type { Message } from "../view/shape.ts";

/** What one inference call brought: the reply, the results of its tools, and its usage. */
export interface TurnResult<M> {
  messages: readonly M[];
  usage: unknown;
  facts?: ObserveFacts;
  /** The agent has nothing more to do. */
  done?: boolean;
}

/** Why the sessions ended. */
export type SessionsEnd =
  | "done"
  | "max_restarts"
  /** A restart was due and the person said no. */
  | "declined"
  | "turns"
  | "aborted";

export interface SessionsOptions<M>
  extends GuardOptions<M>,
    Pick<FitOptions<M>, "say" | "confirm" | "summarize"> {
  /** What people are shown the session as. */
  title?: string;
  /** Read before each session, so that an agent may rewrite its own instructions (`SYSTEM_PROMPT.md`). */
  loadSystemPrompt: () => Promise<string> | string;
  /** Makes the system message; needed for formats other than {@link Message}. */
  system?: (text: string) => M;
  /** The first thing the agent is asked. */
  start: M;
  turn: (input: {
    messages: readonly M[];
    session: number;
    signal: AbortSignal | undefined;
  }) => Promise<TurnResult<M>>;
  /** Most turns over all sessions. */
  maxTurns?: number;
  signal?: AbortSignal;
}

export interface SessionsResult<M> {
  end: SessionsEnd;
  sessions: number;
  turns: number;
  /** The messages of the last session. */
  messages: readonly M[];
}

/**
 * Runs an agent over as many sessions as it needs: masking at the soft threshold, one truthful wind-down at the hard
 * one, then a new session with the reloaded system prompt, a restart marker and the last turns.
 * @throws what `turn` and `loadSystemPrompt` throw.
 */
export async function runSessions<M = Message>(options: SessionsOptions<M>): Promise<SessionsResult<M>> {
  const system = options.system ?? ((content: string) => ({ role: "system", content }) as M);
  const guard = new ContextGuard<M>(options);
  let history: M[] = [system(withContinuity(await options.loadSystemPrompt(), 1)), options.start];
  guard.note({
    type: "session",
    status: "started",
    kind: "agent",
    ...(options.title === undefined ? {} : { title: options.title }),
  });
  const ended = (end: SessionsEnd): SessionsResult<M> => {
    guard.note({ type: "session", status: "ended", kind: "agent", reason: end });
    return { end, sessions: guard.state.session, turns: guard.state.allTurns, messages: history };
  };
  for (let turn = 0; ; turn++) {
    if (options.signal?.aborted === true) return ended("aborted");
    if (turn >= (options.maxTurns ?? Number.POSITIVE_INFINITY)) return ended("turns");
    const prepared = await fit(guard, history, options);
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
      // The old prompt goes where the guard kept it; in a format without system messages it is gone already.
      history = [system(prompt), ...(messages[0] === history[0] ? messages.slice(1) : messages)];
      guard.adopt();
      messages = guard.prepare(history).messages;
    }
    const result = await options.turn({ messages, session: guard.state.session, signal: options.signal });
    guard.observe(result.usage, result.facts);
    history.push(...result.messages);
    if (result.done === true) return ended("done");
  }
}

/** From the second session on, the agent is told why it finds itself at a beginning. */
export function withContinuity(prompt: string, session: number): string {
  if (session === 1) return prompt;
  return (
    `${prompt}\n\nYou are in session #${session}. Earlier sessions ended because their context was full; your ` +
    `workspace files hold their progress. This prompt is read from SYSTEM_PROMPT.md at each start, and you may edit ` +
    `that file to instruct your later sessions.`
  );
}
