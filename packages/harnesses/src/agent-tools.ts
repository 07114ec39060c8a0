/** What the MCP servers answer an agent: the same words over stdio and HTTP. Imports no reader. */

export * from "./agent-tools/answers.ts";
export * from "./agent-tools/headroom.ts";
export * from "./agent-tools/tools.ts";
export { contentsTree, thingName } from "./recordings/contents-tree.ts";
