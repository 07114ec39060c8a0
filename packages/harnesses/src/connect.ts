/** The settings with which a harness reports to Plimsoll. Imports no reader, so the Setup page uses it too. */

import { claudeCodeConnect } from "./claude-code/connect.ts";
import { clineConnect } from "./cline/connect.ts";
import { codexConnect } from "./codex/connect.ts";
import type { ConnectableHarness, ConnectSettings } from "./connect/harness-settings.ts";
import { copilotConnect } from "./copilot/connect.ts";
import { geminiCliConnect } from "./gemini-cli/connect.ts";
import { opencodeConnect } from "./opencode/connect.ts";
import { qwenCodeConnect } from "./qwen-code/connect.ts";
import type { FamilyWith } from "./registry.ts";

export * from "./connect/harness-settings.ts";
export { envLine, settingsText } from "./connect/settings-text.ts";

const CONNECTIONS: { readonly [Family in FamilyWith<"connect">]: ConnectSettings } = {
  "claude-code": claudeCodeConnect,
  codex: codexConnect,
  "gemini-cli": geminiCliConnect,
  "qwen-code": qwenCodeConnect,
  opencode: opencodeConnect,
  copilot: copilotConnect,
  cline: clineConnect,
};

/** Every harness that `plimsoll connect` can set up. */
export const CONNECTABLE_HARNESSES: readonly ConnectableHarness[] = Object.entries(CONNECTIONS).map(
  ([family, connection]) => ({ family, ...connection }),
);
