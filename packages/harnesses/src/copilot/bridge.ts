import { unsettable } from "../bridge/unsettable.ts";

export const copilotBridge = unsettable(
  "Copilot CLI",
  ["copilot"],
  ".copilot",
  "It compacts at about 80 % of its limit. Plimsoll shows its turns through OTLP; compact by hand with /compact.",
);
