import { Readable, Writable } from "node:stream";
import {
  type ClientCapabilities,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";

/**
 * Gives an agent prompts in one session, as an editor does.
 * @param onUpdate called with each update of the session
 * @param afterAnswer awaited after the answer to each prompt. An agent may go on by itself then, and breaks that off for the next prompt
 *   or if the editor leaves
 * @returns why the agent stopped after each prompt
 */
export function promptAgent(
  input: Writable,
  output: Readable,
  {
    cwd,
    prompts,
    onUpdate = () => {},
    afterAnswer = async () => {},
    clientCapabilities = {},
  }: {
    cwd: string;
    prompts: readonly string[];
    onUpdate?: (update: SessionUpdate) => void;
    afterAnswer?: () => Promise<void>;
    clientCapabilities?: ClientCapabilities;
  },
): Promise<string[]> {
  return client({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params }) => onUpdate(params.update))
    .connectWith(
      ndJsonStream(
        Writable.toWeb(input) as WritableStream<Uint8Array>,
        Readable.toWeb(output) as ReadableStream<Uint8Array>,
      ),
      async (agent) => {
        await agent.request(methods.agent.initialize, {
          protocolVersion: PROTOCOL_VERSION,
          clientCapabilities,
        });
        const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
        const reasons: string[] = [];
        for (const text of prompts) {
          const { stopReason } = await agent.request(methods.agent.session.prompt, {
            sessionId,
            prompt: [{ type: "text", text }],
          });
          reasons.push(stopReason);
          await afterAnswer();
        }
        return reasons;
      },
    );
}
