import { calcPrice } from "@pydantic/genai-prices";
import { windowLookup } from "./models.ts";

/** Window sizes as listed by `@pydantic/genai-prices`, with our overrides. Tokens. */
export const catalogWindow = windowLookup((name) => {
  // The package exposes its model table only through a price calculation; the price itself is not used.
  const tokens = calcPrice({ input_tokens: 0, output_tokens: 0 }, name)?.model.context_window;
  return tokens !== undefined && tokens > 0 ? tokens : undefined;
});
