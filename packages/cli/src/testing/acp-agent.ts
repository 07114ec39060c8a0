import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

/**
 * An agent of the Agent Client Protocol for tests. A prompt is a list of steps in JSON: a number is a level that it reports, a
 * text is an answer.
 */
const WINDOW = 200_000;
let costs = 0;

agent({ name: "tester" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: {},
    agentInfo: { name: "tester", version: "1.0.0" },
  }))
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
    const steps = JSON.parse(block?.type === "text" ? block.text : "[]") as (number | string)[];
    for (const step of steps) {
      costs += 0.25;
      await client.notify(methods.client.session.update, {
        sessionId: params.sessionId,
        update:
          typeof step === "number"
            ? {
                sessionUpdate: "usage_update",
                used: step,
                size: WINDOW,
                cost: { amount: costs, currency: "USD" },
              }
            : { sessionUpdate: "agent_message_chunk", content: { type: "text", text: step } },
      });
    }
    return { stopReason: "end_turn" };
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
      Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
    ),
  );
