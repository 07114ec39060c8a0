/** One-sentence definitions of Plimsoll's own words. `Term` shows them where a word first appears on a page. */
export const GLOSSARY = {
  load: "Context tokens as a share of the agent's line: at 100%, the harness masks, hands over or restarts.",
  line: "The threshold at which the harness acts: the agent's ceiling, else its hard limit, else its reserve.",
  harness_line:
    "The harness compacts by itself at this level. Computed: from its default settings. Acknowledged: the harness stated it. Observed: compactions of the last 30 days, with the same model and window, that no person began.",
  boundary:
    "An event that lowers an agent's context tokens: masking, compaction, a restart or an unexplained fall.",
  harness: "A program that runs agents, such as Claude Code, Codex or your own.",
  turn: "One call of a model by an agent.",
  window: "The context window: the most tokens the model accepts in one call.",
  peak: "The highest level recorded, which later falls do not lower.",
  warnings: "How often an agent rose above its warning threshold.",
  masked: "Masked: the harness replaced old tool results with placeholders.",
  compacted: "Compacted: a summary replaced the older messages.",
  subtick: "Sub-tick: the agent handed its work over to a fresh window with a handoff note.",
  restarted: "Restarted: the harness began a new window. Its carry-over is the recent turns it copied there.",
  cleared: "Cleared: the context was emptied, and the agent started afresh.",
  unexplained:
    "Unexplained: the level fell, but no event says why. The server or the harness may have cut the prompt.",
  carryover: "The carry-over: what the next window keeps of the one before, such as recent turns or a note.",
  suspect: "Window suspect: a level exceeds the window size, so the size is probably wrong.",
} as const;

export type Word = keyof typeof GLOSSARY;

/** The word that explains a type of boundary. */
export function boundaryWord(type: string): Word {
  return Object.hasOwn(GLOSSARY, type) ? (type as Word) : "boundary";
}
