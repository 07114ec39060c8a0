import type { GuardOptions } from "../conversation/types.ts";
import type { Message } from "../view/shape.ts";
import { limitOf, resolveBudget } from "../watcher/budget.ts";
import { type OptimisticOptions, optimistic, type Section } from "../watcher/index.ts";
import { ASK, counted, expectPaired, SYSTEM, testGuard, toolTurn, usage } from "./test-guard.ts";

/** The guard masks and summarises at 2,000 tokens; preparation begins above 1,700 and goes down to 1,100. */
export const POLICY = {
  thresholds: { warning: null, ceiling: 2_000, soft: null, hard: null, reserve: null },
  mask: { keepTurns: 2, minTokens: 40, minGain: 0.03 },
  pace: { minTurns: 0, roomTurns: 0 },
  restart: null,
} as const;
export const LIMIT = limitOf(resolveBudget({ total: 2_000 }));

/** Work that ends when the test says so. */
export function deferred() {
  const calls: { signal: AbortSignal; resolve: (text: string) => void; reject: (error: unknown) => void }[] =
    [];
  const begin = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => calls.push({ signal, resolve, reject }));
  return { calls, begin };
}

export const short = ({ id }: Section) => `short version of ${id.split("#")[0]}`;

/** A harness with one conversation that reads files. */
export function optimisticHarness(
  options: OptimisticOptions<Message> = {},
  given: Partial<GuardOptions<Message>> = {},
) {
  const tested = testGuard({ policy: POLICY, ...given, identity: { harness: "test", session: "s" } });
  const { guard } = tested;
  const ahead = optimistic(guard, options);
  const history: Message[] = [SYSTEM, ASK];
  let turn = 0;
  /** Sends the history, and answers with a call whose result has `tokens` tokens. */
  const step = (tokens: number) => {
    const prepared = guard.prepare(history);
    expectPaired(prepared.messages);
    guard.observe(usage(counted(prepared.messages), `t${++turn}`));
    history.push(...toolTurn(tokens));
    return prepared;
  };
  return { ...tested, ahead, history, step };
}

/** Lets promises that are resolved go on. */
export async function ticks(count = 20): Promise<void> {
  for (let tick = 0; tick < count; tick++) await Promise.resolve();
}

export const said = (messages: readonly Message[]) => JSON.stringify(messages);
