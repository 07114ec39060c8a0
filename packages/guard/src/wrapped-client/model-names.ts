/** Where clients name a model. */
const NAMES = ["modelId", "model", "modelName"];
/** Where clients keep the models that they fall back to: OpenRouter, Anthropic, LiteLLM, AI SDK providers and LangChain. */
const OTHERS = [
  ...["models", "fallbacks", "fallback_models", "fallbackModels", "extra_body"],
  ...["settings", "providerOptions", "openrouter", "gateway", "runnable", "bound"],
];
const MOST_NAMES = 16;
const MOST_DEPTH = 5;

/**
 * Returns the names of the models that may answer a call, the preferred one first: its own, and those that the client or the
 * server falls back to.
 * @param sources parameters of a call, models of a client, names, or lists of these
 */
export function modelNames(...sources: readonly unknown[]): string[] {
  const found = new Set<string>();
  const collect = (value: unknown, depth: number): void => {
    if (found.size >= MOST_NAMES || depth > MOST_DEPTH) return;
    if (typeof value === "string") {
      // Anthropic takes `fallbacks: "default"`, for models that only the server knows.
      if (value !== "" && value !== "default") found.add(value);
    } else if (Array.isArray(value)) {
      for (const one of value.slice(0, MOST_NAMES)) collect(one, depth + 1);
    } else if (typeof value === "object" && value !== null) {
      const fields = value as Record<string, unknown>;
      collect(
        NAMES.map((name) => fields[name]).find((one) => one != null),
        depth + 1,
      );
      for (const name of OTHERS) collect(fields[name], depth + 1);
    }
  };
  collect(sources, 0);
  return [...found];
}
