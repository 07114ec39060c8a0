/** What the provider changed in a prompt before the model read it. */
export interface ProviderEdits {
  /** Results, calls or thoughts that it cleared. */
  cleared: number;
  /** Tokens that it cleared. */
  clearedTokens: number;
  /** It replaced older messages with a summary. */
  compacted: boolean;
  /** It was allowed to drop the oldest items of a prompt that does not fit. */
  mayTruncate: boolean;
}

type Fields = Record<string, unknown>;

/** Most entries of a list in an answer that are read. */
const MOST_ENTRIES = 1_000;

/**
 * Reads which edits an answer says were made to its prompt: `context_management` and compactions of Anthropic, also as AI SDK and
 * LangChain pass them on, and compactions and `truncation: "auto"` of OpenAI Responses. Returns undefined if there are none.
 * @example
 * readProviderEdits({ context_management: { applied_edits: [{ cleared_tool_uses: 8, cleared_input_tokens: 50_000 }] } });
 */
export function readProviderEdits(answer: unknown): ProviderEdits | undefined {
  const fields = fieldsOf(answer);
  const metadata = fieldsOf(fields.response_metadata);
  const anthropic = fieldsOf(fieldsOf(fields.providerMetadata).anthropic);
  const edits: ProviderEdits = { cleared: 0, clearedTokens: 0, compacted: false, mayTruncate: false };
  for (const management of [
    fields.context_management,
    metadata.context_management,
    anthropic.contextManagement,
  ]) {
    const { applied_edits, appliedEdits } = fieldsOf(management);
    for (const edit of entriesOf(applied_edits ?? appliedEdits)) {
      edits.cleared += sumOf(edit, /^cleared_?(?:tool_?uses|thinking_?turns)$/i);
      edits.clearedTokens += sumOf(edit, /^cleared_?input_?tokens$/i);
      edits.compacted ||= isCompaction(edit);
    }
  }
  const usages = [
    fields,
    fieldsOf(fields.usage),
    fieldsOf(metadata.usage),
    anthropic,
    fieldsOf(anthropic.usage),
  ];
  const lists = [...usages.map(({ iterations }) => iterations), fields.content, fields.output];
  edits.compacted ||= lists.some((list) => entriesOf(list).some(isCompaction));
  edits.mayTruncate = fields.truncation === "auto";
  const { cleared, clearedTokens, compacted, mayTruncate } = edits;
  return cleared > 0 || clearedTokens > 0 || compacted || mayTruncate ? edits : undefined;
}

/** Such as `compaction` and `compact_20260112`. */
const isCompaction = ({ type }: Fields) => typeof type === "string" && /^(?:context_)?compact/.test(type);

function sumOf(edit: Fields, name: RegExp): number {
  const counts = Object.entries(edit).filter(
    ([key, value]) => name.test(key) && Number.isInteger(value) && (value as number) > 0,
  );
  return counts.reduce((sum, [, value]) => sum + (value as number), 0);
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function entriesOf(list: unknown): Fields[] {
  return Array.isArray(list) ? list.slice(0, MOST_ENTRIES).map(fieldsOf) : [];
}
