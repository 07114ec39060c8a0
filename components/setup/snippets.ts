/** Copy-paste beginnings, one per way of sending. `key` is a real key or a placeholder. */
export interface Snippet {
  id: string;
  label: string;
  /** When to choose it, in a sentence. */
  note: string;
  code: string;
}

export const KEY_PLACEHOLDER = "YOUR_KEY";

export function curlSnippet(url: string, key: string): string {
  return `curl ${url}/api/v1/events \\
  -H 'authorization: Bearer ${key}' \\
  -H 'content-type: application/json' \\
  -d '{"events":[{
    "type":"turn",
    "id":"'$(date +%s%N)'",
    "at":'$(date +%s000)',
    "harness":"my-harness",
    "session":"first-try",
    "model":"claude-opus-4-6",
    "usage":{
      "input_tokens":1200,
      "cache_read_tokens":38400,
      "output_tokens":350,
      "basis":"exclusive"
    }}]}'`;
}

export function snippets(url: string, key: string): Snippet[] {
  return [
    {
      id: "curl",
      label: "curl",
      note: "One turn by hand, to see that the way is open.",
      code: curlSnippet(url, key),
    },
    {
      id: "claude-code",
      label: "Claude Code",
      note: "Reads the transcripts it already keeps: first everything recorded, then each turn as it is written.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
plimsoll import ~/.claude/projects
plimsoll tail ~/.claude/projects`,
    },
    {
      id: "codex",
      label: "Codex",
      note: "Reads the session files of the Codex CLI, and each turn as it is written.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
plimsoll import ~/.codex/sessions
plimsoll tail ~/.codex/sessions`,
    },
    {
      id: "ouroboros",
      label: "Ouroboros",
      note: "Follows the logs of a loop; they stand beside its workspace.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
plimsoll tail ./.ouro-logs`,
    },
    {
      id: "agentd",
      label: "agentd",
      note: "Reads recorded runs; with tail also one that is still going on.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
plimsoll import ./runs`,
    },
    {
      id: "typescript",
      label: "TypeScript",
      note: "From your own harness, after every inference call.",
      code: `await fetch("${url}/api/v1/events", {
  method: "POST",
  headers: {
    authorization: "Bearer ${key}",
    "content-type": "application/json",
  },
  body: JSON.stringify({
    events: [
      {
        type: "turn",
        id: crypto.randomUUID(),
        at: Date.now(),
        harness: "my-harness",
        session: sessionId,
        model: response.model,
        usage: {
          input_tokens: response.usage.input_tokens,
          cache_read_tokens: response.usage.cache_read_input_tokens,
          cache_write_tokens: response.usage.cache_creation_input_tokens,
          output_tokens: response.usage.output_tokens,
          basis: "exclusive",
        },
      },
    ],
  }),
});`,
    },
  ];
}
