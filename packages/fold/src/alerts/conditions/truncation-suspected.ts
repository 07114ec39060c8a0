import { findRecent, type SeenBoundary } from "../agent-sight.ts";
import type { AgentConditionKind } from "../condition-kind.ts";
import { fallText } from "./unexplained-fall.ts";

const isTruncation = ({ type, hint }: SeenBoundary) =>
  type === "unexplained" && hint === "truncation_suspected";

/** A fall that looks as if the server of the model dropped the oldest messages. */
export const truncationSuspected: AgentConditionKind<"truncation_suspected"> = {
  title: "silent truncation",
  phrase: () => "the model's server probably dropped messages",
  fields: {},
  start: { type: "truncation_suspected" },
  advice: "Raise the context length of the model's server, such as num_ctx of Ollama.",
  spansWindows: true,
  find: (_, sight, _held, now) => findRecent(sight, now, isTruncation),
  why: (_, { boundaries }) =>
    `${fallText(boundaries.find(isTruncation))}: the model's server probably dropped the oldest messages`,
};
