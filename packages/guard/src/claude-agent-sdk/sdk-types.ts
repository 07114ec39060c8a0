/** A message of the SDK. The guard reads what it needs and passes on the rest. */
export interface SdkMessage {
  type: string;
}

/** A prompt in the SDK's format, such as `SDKUserMessage`. */
export interface SdkUserMessage {
  type: "user";
  message: { role: "user"; content: string | readonly object[] };
  parent_tool_use_id: string | null;
}

/** The methods of a running query that the guard calls. */
export interface SdkControls {
  interrupt?(): Promise<unknown>;
  setModel?(model?: string): Promise<void>;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK defines the modes
  setPermissionMode?(mode: any): Promise<void>;
  close?(): void;
}

/** The SDK's `query` function. */
// biome-ignore lint/suspicious/noExplicitAny: the SDK defines options and prompts
export type SdkQuery<M> = (params: { prompt: any; options?: any }) => AsyncIterable<M> & SdkControls;

/** A block of a message of the agent, or of the tools that answer it. */
export interface SdkBlock {
  type?: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: unknown;
  tool_use_id?: string;
  content?: unknown;
}

/** The blocks of a message, or of its text. */
export function blocksOf(message: unknown): readonly SdkBlock[] {
  const content = (message as { message?: { content?: unknown } }).message?.content;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as SdkBlock[]) : [];
}
