import { calcPrice, type MatchLogic } from "@pydantic/genai-prices";
import { windowLookup } from "./history/models.ts";

/** What may follow a listed name and still mean the same model: a date, a revision, `-latest`, a preview's date. */
const REVISION = /^(?:[-@]\d{4}-?\d{2}-?\d{2}|-\d{3}|-v\d+|-latest|-(?:preview|exp)(?:-\d{2}-\d{2,4})?)*$/;

/** Window sizes as listed by `@pydantic/genai-prices`, with our overrides. Tokens. */
export const catalogWindow = windowLookup((name) => {
  // The package exposes its model table only through a price calculation; the price itself is not used.
  const model = calcPrice({ input_tokens: 0, output_tokens: 0 }, name)?.model;
  if (model?.context_window === undefined || model.context_window <= 0) return undefined;
  // It takes a name that only begins as a listed one for the listed model. That does for a price; a window must not be
  // guessed from an older sibling's.
  const asked = name.toLowerCase();
  return isRevision(asked, model.id) || means(model.match, asked) ? model.context_window : undefined;
});

function isRevision(name: string, listed: string): boolean {
  return name.startsWith(listed) && REVISION.test(name.slice(listed.length));
}

/** Whether a rule that a name satisfies says all of the name, and not only how it begins or what is in it. */
function means(rule: MatchLogic, name: string): boolean {
  if ("or" in rule) return rule.or.some((part) => means(part, name));
  if ("and" in rule) return rule.and.some((part) => means(part, name));
  if ("equals" in rule) return rule.equals === name;
  if ("starts_with" in rule) return isRevision(name, rule.starts_with);
  if ("regex" in rule) return /^\^.*\$$/.test(rule.regex) && new RegExp(rule.regex).test(name);
  return false;
}
