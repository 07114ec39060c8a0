import type { Inputs } from "./inputs.ts";
import type { LiveQuery } from "./live-query.ts";
import type { SdkUserMessage } from "./sdk-types.ts";

/** What a conversation waits for: the caller's next prompt, or the SDK's next message. */
export type Arrival<M> =
  | { from: "caller"; input: IteratorResult<SdkUserMessage, unknown> }
  | { from: "sdk"; output: IteratorResult<M, undefined> }
  | { from: "sdk"; error: unknown };

export function nextInput<M>(inputs: Inputs): Promise<Arrival<M>> {
  const arrival = inputs.next().then((input): Arrival<M> => ({ from: "caller", input }));
  // It may fail after the conversation has ended.
  arrival.catch(() => {});
  return arrival;
}

export function nextOutput<M>(live: LiveQuery<M>): Promise<Arrival<M>> {
  return live.next().then(
    (output): Arrival<M> => ({ from: "sdk", output }),
    (error: unknown): Arrival<M> => ({ from: "sdk", error }),
  );
}
