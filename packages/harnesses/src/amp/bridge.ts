import { unsettable } from "../bridge/unsettable.ts";

export const ampBridge = unsettable(
  "Amp",
  ["amp"],
  ".local/share/amp",
  "Import its threads to see its line. Start a new thread with its handoff.",
);
