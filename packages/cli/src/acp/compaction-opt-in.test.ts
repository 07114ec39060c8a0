import { describe, expect, it } from "vitest";
import { optIn, toldOfCompaction } from "./compaction-opt-in.ts";

const request = (params: unknown) => ({ jsonrpc: "2.0", id: 0, method: "initialize", params });
const asking = { session: { compaction: {} } };

describe("the request for compactions", () => {
  it.each([
    [{ protocolVersion: 1 }, asking],
    [{ protocolVersion: 1, clientCapabilities: null }, asking],
    [{ protocolVersion: 1, clientCapabilities: { session: null } }, asking],
    [{ protocolVersion: 1, clientCapabilities: { session: { compaction: null } } }, asking],
    [
      { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: true }, session: { notices: {} } } },
      { fs: { readTextFile: true }, session: { notices: {}, compaction: {} } },
    ],
  ])("is added to %j", (params, clientCapabilities) => {
    expect(optIn(request(params))).toEqual(request({ ...params, clientCapabilities }));
  });

  it.each([
    request({ protocolVersion: 1, clientCapabilities: asking }),
    request({ protocolVersion: 2, info: { name: "editor" }, capabilities: {} }),
    request({}),
    request(null),
    { ...request({ protocolVersion: 1 }), method: "session/new" },
    [request({ protocolVersion: 1 })],
    undefined,
  ])("is not added to %j", (message) => {
    expect(optIn(message)).toBeUndefined();
  });

  it.each([
    ["compaction_update", true],
    ["compaction_summary_chunk", true],
    ["usage_update", false],
    ["agent_message_chunk", false],
  ])("has %s sent: %s", (sessionUpdate, isSent) => {
    const update = { sessionUpdate, content: { type: "text", text: "compaction_update" } };
    expect(toldOfCompaction({ method: "session/update", params: { sessionId: "s", update } })).toBe(isSent);
  });
});
