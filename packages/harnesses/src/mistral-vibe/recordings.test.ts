import { expect, it } from "vitest";
import { json, readAll } from "../testing/fold.ts";
import { mistralVibeRecordings } from "./recordings.ts";

const meta = (config: object) => ({
  session_id: "s",
  start_time: "2026-11-20T10:00:00+00:00",
  end_time: "2026-11-20T10:05:00+00:00",
  stats: { steps: 4, context_tokens: 930, last_turn_prompt_tokens: 900, last_turn_completion_tokens: 30 },
  total_messages: 2,
  config,
});
const models = [
  { name: "mistral-vibe-cli-latest", alias: "mistral-medium-3.5" },
  { name: "devstral-2512", alias: "mine" },
];

it.each([
  ["of Mistral's own", { active_model: "mistral-medium-3.5", models }, "mistral-medium-3.5"],
  ["of the user's", { active_model: "mine", models }, "devstral-2512"],
  ["that is not listed", { active_model: "gone", models }, "gone"],
  ["that is missing", {}, "unknown"],
])("names a model %s", (_, config, model) => {
  const files = [{ path: ".vibe/logs/session/s/meta.json", lines: json(meta(config)) }];
  const { events } = readAll(
    mistralVibeRecordings.reader({ harness: "mistral-vibe@host", titles: false }),
    files,
  );
  expect(events).toContainEqual(expect.objectContaining({ type: "turn", id: "step/4", model }));
});
