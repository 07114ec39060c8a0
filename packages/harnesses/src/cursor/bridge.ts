import { unsettable } from "../bridge/unsettable.ts";

export const cursorBridge = unsettable(
  "Cursor",
  ["cursor-agent", "cursor"],
  ".cursor",
  "Its preCompact hook only observes. Compact by hand with /summarize.",
);
