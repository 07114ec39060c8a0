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
