/** What an event must hold, by the path of the field. The longest path that fits a field at fault wins. */
export const EVENT_RULES: Readonly<Record<string, string>> = {
  "": "An event is one JSON object of at most 256 KiB.",
  type: "The type is one of the event types of the protocol, such as turn, compacted or session.",
  id: "The ID is a text of up to 128 characters, unique within the agent.",
  at: "The time is RFC 3339 or epoch milliseconds, at most 5 minutes ahead of the server's clock.",
  harness: "The harness is a text of up to 128 characters that names the program, not one of its runs.",
  session: "The session is a text of up to 256 characters that names one piece of work.",
  agent: "The agent is a text of up to 128 characters that names the owner of the window.",
  parent_agent: "The parent agent is the name of the agent that started this sub-agent.",
  own_session:
    "The own session is a text of up to 256 characters: the id of the session that the harness runs the sub-agent as.",
  window: "The window is a whole number from 0 to 1,000,000.",
  model: "The model is a text of up to 200 characters: the provider's model name.",
  usage: "Usage is an object with counts of tokens: whole numbers from 0, or absent if unknown.",
  context_window: "The context window is a whole number of tokens, from 1 to 700,000,000.",
  composition: "Composition is an object with counts of tokens for each kind of content.",
  cost_usd: "The cost is a number of US dollars from 0.",
  duration_ms: "The duration is a whole number of milliseconds from 0.",
};

/** The rule for a field at fault, with its key in `EVENT_RULES`; undefined if the field has none of its own. */
export function ruleOf(path: string): string | undefined {
  const parts = path.split(".");
  for (let length = parts.length; length > 0; length--) {
    const key = parts.slice(0, length).join(".");
    if (Object.hasOwn(EVENT_RULES, key)) return key;
  }
  return undefined;
}
