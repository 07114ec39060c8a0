import type { Inputs } from "./inputs.ts";
import type { LiveQuery } from "./live-query.ts";
import type { SdkUserMessage } from "./sdk-types.ts";

/** What a conversation waits for: the caller's next prompt, or the SDK's next message. */
export type Heard<M> =
  | { from: "caller"; input: IteratorResult<SdkUserMessage, unknown> }
  | { from: "sdk"; output: IteratorResult<M, undefined> }
  | { from: "sdk"; error: unknown };

export function nextInput<M>(inputs: Inputs): Promise<Heard<M>> {
  const heard = inputs.next().then((input): Heard<M> => ({ from: "caller", input }));
  // It may fail after the conversation has ended.
  heard.catch(() => {});
  return heard;
}

export function nextOutput<M>(live: LiveQuery<M>): Promise<Heard<M>> {
  return live.next().then(
    (output): Heard<M> => ({ from: "sdk", output }),
    (error: unknown): Heard<M> => ({ from: "sdk", error }),
  );
}
