import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, type SessionUpdate } from "@agentclientprotocol/sdk";

/**
 * An agent of the Agent Client Protocol for tests. A prompt is a list of steps in JSON: a number is a level that it reports, a
 * text is an answer, and null is a compaction. A client that does not know compactions gets a text instead.
 */
const WINDOW = 200_000;
let costs = 0;
let compactions = 0;
let tellsCompactions = false;

agent({ name: "tester" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    tellsCompactions = params.clientCapabilities?.session?.compaction != null;
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: {},
      agentInfo: { name: "tester", version: "1.0.0" },
    };
  })
  .onRequest(methods.agent.session.new, () => ({
    sessionId: "s-1",
    configOptions: [
      {
        id: "which",
        name: "Model",
        category: "model",
        type: "select",
        currentValue: "claude-opus-5",
        options: [{ value: "claude-opus-5", name: "Opus" }],
      },
    ],
  }))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const [block] = params.prompt;
    const steps = JSON.parse(block?.type === "text" ? block.text : "[]") as (number | string | null)[];
    for (const step of steps) {
      costs += 0.25;
      for (const update of updatesOf(step))
        await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    }
    return { stopReason: "end_turn" };
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  );

function updatesOf(step: number | string | null): SessionUpdate[] {
  if (typeof step === "string") return [said(step)];
  if (typeof step === "number") {
    const cost = { amount: costs, currency: "USD" };
    return [{ sessionUpdate: "usage_update", used: step, size: WINDOW, cost }];
  }
  if (!tellsCompactions) return [said("Compacting")];
  compactions += 1;
  const compactionId = `c-${compactions}`;
  return [
    { sessionUpdate: "compaction_update", compactionId, status: "in_progress" },
    { sessionUpdate: "compaction_summary_chunk", compactionId, content: { type: "text", text: "So far" } },
    { sessionUpdate: "compaction_update", compactionId, status: "completed" },
  ];
}

function said(text: string): SessionUpdate {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}
