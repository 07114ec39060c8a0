import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";

/**
 * Gives an agent prompts in one session, as an editor does.
 * @param onText called with each text of an answer
 * @returns why the agent stopped after each prompt
 */
export function promptAgent(
  input: Writable,
  output: Readable,
  {
    cwd,
    prompts,
    onText = () => {},
  }: { cwd: string; prompts: readonly string[]; onText?: (text: string) => void },
): Promise<string[]> {
  return client({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params }) => {
      const { update } = params;
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
        onText(update.content.text);
    })
    .connectWith(
      ndJsonStream(
        Writable.toWeb(input) as WritableStream<Uint8Array>,
        Readable.toWeb(output) as ReadableStream<Uint8Array>,
      ),
      async (agent) => {
        await agent.request(methods.agent.initialize, {
          protocolVersion: PROTOCOL_VERSION,
          clientCapabilities: {},
        });
        const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
        const reasons: string[] = [];
        for (const text of prompts) {
          const { stopReason } = await agent.request(methods.agent.session.prompt, {
            sessionId,
            prompt: [{ type: "text", text }],
          });
          reasons.push(stopReason);
        }
        return reasons;
      },
    );
}
