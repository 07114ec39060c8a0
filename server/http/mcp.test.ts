import { expect, it } from "vitest";
import { statedBy } from "./mcp.ts";

const thread = { threadId: "t1" };
const inTurn = { "x-codex-turn-metadata": { thread_id: "t1" } };

it.each<[session: string | undefined, agent: string | undefined, meta: unknown, stated: object]>([
  ["s1", undefined, undefined, { session: "s1", agent: undefined }],
  ["s1", "scout", undefined, { session: "s1", agent: "scout" }],
  ["a%20b%C3%A9", "%7Bc%7D", undefined, { session: "a bé", agent: "{c}" }],
  ["100%", undefined, undefined, { session: "100%", agent: undefined }],
  [undefined, undefined, thread, { session: "t1", agent: undefined }],
  ["", undefined, inTurn, { session: "t1", agent: undefined }],
  ["t1", undefined, thread, { session: "t1", agent: undefined }],
  ["s1", undefined, thread, { refused: "other_session" }],
  [undefined, "scout", undefined, { refused: "no_session" }],
  [undefined, undefined, { "claudecode/toolUseId": "toolu_1" }, { refused: "no_session" }],
  ["s1", undefined, { "claudecode/toolUseId": "s2" }, { refused: "no_agent" }],
  ["s1", "main", { "claudecode/toolUseId": "s2" }, { session: "s1", agent: "main" }],
  [undefined, undefined, { threadId: { toString: "t1" } }, { refused: "no_session" }],
  [undefined, undefined, "threadId", { refused: "no_session" }],
  ["a%00b", undefined, undefined, { refused: "unknown_session" }],
  ["s1", "a%00b", undefined, { refused: "unknown_session" }],
  [undefined, undefined, { threadId: "\ud800" }, { refused: "unknown_session" }],
  ["x".repeat(257), undefined, undefined, { refused: "unknown_session" }],
])("a call with the session %s, the agent %s and %j", (session, agent, meta, stated) => {
  const headers = new Map([
    ["Plimsoll-Session", session],
    ["Plimsoll-Agent", agent],
  ]);
  expect(statedBy((name) => headers.get(name), meta, "support@web-1")).toEqual(stated);
});

it.each([
  ["gemini-cli", undefined, { refused: "no_agent" }],
  ["Gemini-CLI@build-1", undefined, { refused: "no_agent" }],
  ["gemini-cli", "main", { session: "s1", agent: "main" }],
  ["claude-code@build-1", undefined, { refused: "no_agent" }],
  ["gemini-client", undefined, { session: "s1", agent: undefined }],
  [undefined, undefined, { session: "s1", agent: undefined }],
])("a call with a key for %s and the agent %s", (harness, agent, stated) => {
  const headers = new Map([
    ["Plimsoll-Session", "s1"],
    ...(agent ? ([["Plimsoll-Agent", agent]] as const) : []),
  ]);
  expect(statedBy((name) => headers.get(name), {}, harness)).toEqual(stated);
});

it("takes the session of opencode from its plugin", () => {
  const meta = { "plimsoll/opencode": { session: "ses_1" } };
  expect(statedBy(() => undefined, meta, "opencode")).toEqual({ session: "ses_1", agent: undefined });
});
