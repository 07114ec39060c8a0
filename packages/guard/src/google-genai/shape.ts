import { mediaTokens } from "../measure/media.ts";
import { joined, type Part, type PartKind, type Shape, textOf } from "../view/shape.ts";

/** One entry of Gemini's `contents`. `Content` of `@google/genai` is assignable to it. */
export interface GeminiContent {
  role?: string;
  parts?: readonly object[];
}

interface FunctionAnswer {
  id?: string;
  name?: string;
  response?: Record<string, unknown>;
  parts?: readonly object[];
}

/** The fields of a part that the guard reads. A part has one kind of data. */
interface GeminiPart {
  text?: string;
  thought?: boolean;
  thoughtSignature?: string;
  functionCall?: { id?: string; name?: string; args?: unknown };
  functionResponse?: FunctionAnswer;
  inlineData?: { mimeType?: string };
  fileData?: { mimeType?: string };
}

/** Of Gemini 3, unless a request says otherwise: https://ai.google.dev/gemini-api/docs/media-resolution */
const IMAGE_TOKENS = 1_120;
/** Assumed tokens of a film or of a file of an unknown kind. */
const FILE_TOKENS = 800;

/** The shape of Gemini's contents. */
export const geminiShape: Shape<GeminiContent> = {
  read({ role, parts = [] }) {
    const kind = role === "model" ? "assistant" : "user";
    if (parts.length === 0) return [{ kind, text: "" }];
    const signed = parts.some((part: GeminiPart) => part.thoughtSignature !== undefined);
    return parts.map((part) => readPart(part, kind, signed));
  },
  replace(content, texts) {
    const parts = (content.parts ?? []).map((part: GeminiPart, place) => {
      const text = texts.get(place);
      if (text === undefined) return part;
      const { functionCall, functionResponse } = part;
      if (functionCall !== undefined)
        return { ...part, functionCall: { ...functionCall, args: JSON.parse(text) as unknown } };
      return functionResponse === undefined
        ? { ...part, text }
        : { ...part, functionResponse: { ...functionResponse, response: { output: text } } };
    });
    return { ...content, parts };
  },
  user: (text) => ({ role: "user", parts: [{ text }] }),
  merge(content, text, where) {
    const parts: readonly GeminiPart[] = content.parts ?? [];
    const place = parts.findLastIndex(({ functionResponse }) => functionResponse !== undefined);
    if (place < 0)
      return { ...content, parts: where === "before" ? [{ text }, ...parts] : [...parts, { text }] };
    // Only the answers may follow a call.
    const part = parts[place]!;
    const merged = { ...part, functionResponse: withText(part.functionResponse!, text, where) };
    return { ...content, parts: parts.with(place, merged) };
  },
};

/** @param signed A signature covers all calls of its content, so that their arguments must stay. */
function readPart(part: GeminiPart, kind: PartKind, signed: boolean): Part {
  const { text, functionCall, functionResponse, inlineData, fileData } = part;
  // All contents of one streamed answer belong together.
  const joins = kind === "assistant";
  if (functionCall !== undefined) {
    const { id, name, args } = functionCall;
    const spoken = `${name ?? ""} ${textOf(args)}`;
    return { kind: "call", id, tool: name, input: args, text: spoken, joins, editable: !signed };
  }
  if (functionResponse !== undefined) {
    const { id, name: tool, response = {}, parts = [] } = functionResponse;
    // Images of the answer would stay without the text that they belong to.
    const fixed = parts.length > 0;
    const extraTokens = parts.reduce((sum: number, one: GeminiPart) => sum + fileTokens(one), 0);
    return {
      kind: "result",
      id,
      tool,
      error: "error" in response,
      text: answerText(response),
      fixed,
      extraTokens,
    };
  }
  if (text !== undefined) {
    const fixed = part.thought === true || part.thoughtSignature !== undefined;
    return { kind, text, fixed, joins };
  }
  if (inlineData !== undefined || fileData !== undefined)
    return { kind, text: "", extraTokens: fileTokens(part), fixed: true, joins };
  return { kind, text: textOf(part), fixed: true, joins };
}

function fileTokens({ inlineData, fileData }: GeminiPart): number {
  const file = inlineData ?? fileData;
  if (file?.mimeType?.startsWith("image/") === true) return IMAGE_TOKENS;
  return mediaTokens({ inlineData: file }, "openai") ?? FILE_TOKENS;
}

/** The field `output` holds the answer, if a function gives no fields of its own. */
function answerText(response: Readonly<Record<string, unknown>>): string {
  const { output, ...others } = response;
  return typeof output === "string" && Object.keys(others).length === 0 ? output : textOf(response);
}

function withText(answer: FunctionAnswer, text: string, where: "before" | "after"): FunctionAnswer {
  const { response = {} } = answer;
  const { output } = response;
  const merged = typeof output === "string" ? { output: joined(output, text, where) } : { note: text };
  return { ...answer, response: { ...response, ...merged } };
}
