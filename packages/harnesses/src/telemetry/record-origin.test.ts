import { expect, it } from "vitest";
import { readRecord } from "../telemetry.ts";
import { logSample } from "../testing/otlp.ts";

const attributes = {
  "event.name": "api_request",
  "session.id": "7b1c",
  model: "claude-opus-5",
  input_tokens: 3,
  output_tokens: 640,
  request_id: "req_011",
};
const eventsOf = (resource: Record<string, string>) =>
  readRecord(
    logSample({
      resource: { "service.name": "claude-code", ...resource },
      name: "claude_code.api_request",
      attributes,
    }),
  ).reading.events;

it("takes machine, repository and branch from the resource", () => {
  const resource = {
    "host.name": "laptop",
    "vcs.repository.url.full": "https://example.org/acme/billing",
    "vcs.ref.head.name": "main",
  };
  expect(eventsOf(resource)).toMatchObject([
    {
      harness: "claude-code@laptop",
      machine: "laptop",
      repository: "https://example.org/acme/billing",
      branch: "main",
    },
  ]);
});

it("says nothing of what the resource does not name", () => {
  const [event] = eventsOf({})!;
  expect(event).not.toHaveProperty("machine");
  expect(event).not.toHaveProperty("repository");
  expect(event).not.toHaveProperty("branch");
});
