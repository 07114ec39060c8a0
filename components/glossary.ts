/** One-sentence definitions of Plimsoll's own words, shown on hover where they first appear on a page. */
export const GLOSSARY = {
  load: "Context tokens as a share of the agent's line: at 100%, the harness masks, hands over or restarts.",
  line: "The threshold at which the harness acts: the agent's ceiling, else its hard limit, else its reserve.",
  boundary:
    "An event that lowers an agent's context tokens: masking, compaction, a restart or an unexplained drop.",
  window: "The context window: the most tokens the model accepts in one call.",
  peak: "The highest level recorded, which later drops do not lower.",
  warnings: "How often an agent rose above its warning threshold.",
} as const;
