import type { FinishedReply } from "./provider-formats.ts";

/** Paths of the Gemini API and of Vertex AI. The model and the method are in the path. */
const GEMINI_PATH = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** The request body of a Gemini path, with the model and `stream` that other APIs have in it. */
export function geminiBody(path: string, body: Record<string, unknown>): Record<string, unknown> | undefined {
  const [, model, method] = GEMINI_PATH.exec(path) ?? [];
  return model === undefined ? undefined : { ...body, model, stream: method === "streamGenerateContent" };
}

/** A whole answer in Gemini's format. */
export function geminiAnswer(reply: FinishedReply) {
  return geminiChunk(reply, geminiParts(reply), true);
}

/** The chunks of a streamed answer: one for each part, the last one with the number of output tokens. */
export function geminiChunks(reply: FinishedReply) {
  const parts = geminiParts(reply);
  return parts.map((part, index) => geminiChunk(reply, [part], index === parts.length - 1));
}

/** Gemini 3 signs the first call of an answer and refuses the call without its signature. */
function geminiParts({ id, text, calls }: FinishedReply): object[] {
  const parts = calls.map(({ id: call, name, arguments: args }, index) => ({
    functionCall: { id: call, name, args },
    ...(index === 0 && { thoughtSignature: btoa(`${id} ${call}`) }),
  }));
  return text === "" && parts.length > 0 ? parts : [{ text }, ...parts];
}

/** By default half of the prompt comes from the cache, so a test notices if the guard adds it again. */
function geminiChunk(reply: FinishedReply, parts: object[], last: boolean) {
  const { id, model, promptTokens, outputTokens, cachedTokens = Math.floor(promptTokens / 2) } = reply;
  return {
    candidates: [{ content: { role: "model", parts }, index: 0, ...(last && { finishReason: "STOP" }) }],
    usageMetadata: {
      promptTokenCount: promptTokens,
      cachedContentTokenCount: cachedTokens,
      ...(last && { candidatesTokenCount: outputTokens }),
      totalTokenCount: promptTokens + (last ? outputTokens : 0),
    },
    modelVersion: model,
    responseId: id,
  };
}
