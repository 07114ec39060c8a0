import type { PlimsollEventInput } from "@plimsoll/protocol/events";

/** When the turns begin, epoch ms. */
export const HOUR = Date.UTC(2026, 10, 20, 10);

/** The fields that every event of one session shares. */
export const base = { harness: "phantom@test", session: "thread-1" } as const;
let serial = 0;
/** A turn with a new id, one second after the turn before. */
export function turn(
  input: number | undefined,
  more: Partial<Extract<PlimsollEventInput, { type: "turn" }>> = {},
) {
  serial += 1;
  return {
    ...base,
    id: `turn-${serial}`,
    type: "turn" as const,
    at: HOUR + serial * 1_000,
    model: "model-a",
    usage: { input_tokens: input, output_tokens: 10 },
    ...more,
  };
}
