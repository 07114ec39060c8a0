/** Why a batch cannot be written the quick way, which continues agents from where this process remembers them. */
export type CareReason = "turn_repeats" | "history_needed";

/**
 * Thrown on the quick way; nothing of the batch is stored then. The careful way locks the batch's agents while it
 * reads where they stand, so that nothing can move below it.
 */
export class NeedsCare extends Error {
  readonly reason: CareReason;

  constructor(reason: CareReason) {
    super(`a batch needs care: ${reason}`);
    this.reason = reason;
  }
}
