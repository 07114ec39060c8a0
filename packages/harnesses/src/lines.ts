/** Where a harness compacts by itself, and why its level may fall. Imports no reader, so pages use it too. */

export * from "./lines/fall-causes.ts";
export * from "./lines/family-defaults.ts";
export { OWN_LINE_FAMILIES } from "./lines/family-lines.ts";
export * from "./lines/harness-line.ts";
export * from "./lines/line-causes.ts";
export { hasOwnLine, ownLine } from "./lines/own-lines.ts";
