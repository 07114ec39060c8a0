import { expect, it } from "vitest";
import { maskedText } from "./masked-text.ts";

it.each([
  ['  "ANTHROPIC_AUTH_TOKEN": "sk-ant-1",', '  "ANTHROPIC_AUTH_TOKEN": "…",'],
  ["+OPENAI_API_KEY=sk-1 # mine", "+OPENAI_API_KEY=…"],
  ['headers = { "x-api-key" = "plim_a_b" }', 'headers = { "x-api-key" = "plim_…" }'],
  [
    'exporter = { headers = { Authorization = "Bearer x" } }',
    'exporter = { headers = { Authorization = "…" } }',
  ],
  ['"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=plim_abc"', '"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=plim_…"'],
  ["url = https://me:pw@host/x", "url = https://…@host/x"],
  ['"model": "opus"', '"model": "opus"'],
])("shows %j as %j", (line, shown) => {
  expect(maskedText(line)).toBe(shown);
});
