/** The settings with which a harness reports to Plimsoll. Plain functions, for the command line and the Setup page. */

export * from "./connect/harness-settings.ts";
export { envLine, settingsText } from "./connect/settings-text.ts";
