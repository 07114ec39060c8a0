/**
 * A transcript of Claude Code whose only call is followed by a compaction. `compactMetadata` counts the messages alone, as real
 * ones do.
 * @param level context tokens of the call
 * @param at epoch ms
 */
export function compactedTranscript(level: number, at: number, trigger = "auto"): string {
  const line = (later: number, more: object) =>
    JSON.stringify({
      uuid: `u-${later}`,
      sessionId: "s-1",
      timestamp: new Date(at + later).toISOString(),
      ...more,
    });
  const usage = { input_tokens: level, output_tokens: 5 };
  const message = { id: "m-1", model: "claude-opus-5", content: [], usage, stop_reason: "end_turn" };
  return [
    line(0, { type: "assistant", message }),
    line(10, { type: "system", subtype: "compact_boundary", compactMetadata: { trigger, preTokens: 9_000 } }),
    "",
  ].join("\n");
}
