import type { FamilyLine } from "../lines/family-line.ts";

export const codexLine = {
  // 90 % of the model's window, of which Codex reports 95 %
  own: { rules: ["94.7%"], warning: "75%", setting: "model_auto_compact_token_limit", layered: true },
  lineCauses: {
    counted_scope: {
      fits: ({ verdict }) => verdict === "later",
      text: 'With model_auto_compact_token_limit_scope = "body_after_prefix", Codex does not count the start of the prompt.',
    },
  },
  falls: [
    "Codex compacted, and its hook is not trusted: the turn before may be the call that wrote the summary.",
    "The user edited an earlier message, which drops everything after it.",
    "The thread was forked or resumed, and a part of the rollout was not imported.",
  ],
} satisfies FamilyLine;
