import type { BoundaryView } from "@plimsoll/protocol/api";
import { exact, plural } from "../../format.ts";

const count = (value: unknown) => (typeof value === "number" ? value : undefined);

/** What stayed in the context after a fall. */
export function keptText({ type, detail, inferred, tokens_after: after }: BoundaryView): string {
  if (type === "unexplained" || inferred)
    return after === null ? "Unknown." : `Unknown. The next turn had ${exact(after)} tokens.`;
  switch (type) {
    case "masked": {
      const tools = Array.isArray(detail.tools)
        ? detail.tools.filter((tool) => typeof tool === "string")
        : [];
      const whose =
        tools.length === 0
          ? ""
          : ` of ${tools.slice(0, 5).join(", ")}${tools.length > 5 ? " and others" : ""}`;
      return `All messages, with placeholders for old tool results${whose}.`;
    }
    case "compacted": {
      const sections = count(detail.sections);
      return `A summary of the older messages${sections === undefined ? "" : `, in ${plural(sections, "section")}`}.`;
    }
    case "subtick": {
      const handoff = count(detail.handoff_tokens);
      return handoff === undefined ? "A handoff note." : `A handoff note of ${exact(handoff)} tokens.`;
    }
    case "restarted": {
      const carried = count(detail.carryover_turns);
      if (carried === undefined) return "Unknown: the harness does not say.";
      return carried === 0 ? "Nothing: the agent starts afresh." : `The last ${plural(carried, "turn")}.`;
    }
    case "cleared":
      return "Nothing: the agent starts afresh.";
    default:
      return "Unknown: the harness does not say.";
  }
}

/** Who says that the fall happened, and where its two levels come from. */
export function sourceOfFall({ inferred, detail }: BoundaryView, harness: string): string {
  if (inferred) return "Plimsoll, from two consecutive turns. The harness reported no event.";
  const [before, after] = [count(detail.tokens_before), count(detail.tokens_after)];
  const levels =
    before !== undefined && after !== undefined
      ? "with both levels"
      : before !== undefined
        ? "with the level before it; the next turn shows the level after it"
        : after !== undefined
          ? "with the level after it; the turn before shows the level before it"
          : "without levels; the turns around it show them";
  return `${harness}, ${levels}.`;
}
