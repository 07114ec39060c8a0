/** A command or code sample that sends turns to Plimsoll. */
export interface Snippet {
  id: string;
  label: string;
  /** What the sample does, in one sentence. */
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

/** All samples. `key` is a key or `KEY_PLACEHOLDER`. */
export function snippets(url: string, key: string): Snippet[] {
  return [
    {
      id: "curl",
      label: "curl",
      note: "Sends one test turn with curl.",
      code: curlSnippet(url, key),
    },
    {
      id: "claude-code",
      label: "Claude Code",
      note: "Imports existing transcripts, then follows new turns. Run it in a folder where Plimsoll is installed.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
npx plimsoll import ~/.claude/projects
npx plimsoll tail ~/.claude/projects`,
    },
    {
      id: "codex",
      label: "Codex",
      note: "Imports Codex CLI session files, then follows new turns. Run it in a folder where Plimsoll is installed.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
npx plimsoll import ~/.codex/sessions
npx plimsoll tail ~/.codex/sessions`,
    },
    {
      id: "ouroboros",
      label: "Ouroboros",
      note: "Follows the logs of a loop, which are next to its workspace. Run it in a folder where Plimsoll is installed.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
npx plimsoll tail ./.ouro-logs`,
    },
    {
      id: "agentd",
      label: "agentd",
      note: "Imports recorded runs; use npx plimsoll tail to follow a running one. Run it in a folder where Plimsoll is installed.",
      code: `export PLIMSOLL_URL=${url}
export PLIMSOLL_KEY=${key}
npx plimsoll import ./runs`,
    },
    {
      id: "typescript",
      label: "TypeScript",
      note: "Sends one turn after each inference call in your own harness.",
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
