import { CONNECTABLE_HARNESSES, type HarnessFileId } from "@plimsoll/harnesses/connect";
import { at, withChanges } from "@plimsoll/harnesses/fields";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editSettings, parseSettings } from "../bridge/edit/edit.ts";
import { changesOf, ownFunctions } from "./conflicts.ts";

const VALUES = { url: "http://127.0.0.1:4180", key: "plim_abc", host: "laptop" };
const harnessOf = (family: string) => CONNECTABLE_HARNESSES.find((harness) => harness.family === family)!;
const fileOf = (family: string, id: HarnessFileId = "settings") =>
  harnessOf(family)
    .files(VALUES)
    .find((file) => file.id === id)!;
const planned = (family: string, settings: object, id?: HarnessFileId, ours = false) =>
  changesOf(fileOf(family, id), settings as Record<string, unknown>, () => ours);

describe("settings that are there", () => {
  it.each([
    ["claude-code", { env: { OTEL_LOGS_EXPORTER: "console" } }, "settings", "other_exporter"],
    ["claude-code", { env: { CLAUDE_CODE_ENABLE_TELEMETRY: "0" } }, "settings", "other_exporter"],
    ["claude-code", { env: { OTEL_EXPORTER_OTLP_TRACES_HEADERS: "a=b" } }, "settings", "other_exporter"],
    ["claude-code", { env: { OTEL_METRICS_EXPORTER: "console,otlp" } }, "settings", "other_exporter"],
    ["claude-code", { env: { OTEL_EXPORTER_OTLP_ENDPOINT: "https://p/otlp" } }, "settings", "other_server"],
    ["claude-code", { env: { OTEL_EXPORTER_OTLP_HEADERS: "x-api-key=plim_x" } }, "settings", "other_server"],
    [
      "codex",
      { otel: { exporter: { "otlp-grpc": { endpoint: "https://c" } } } },
      "settings",
      "other_exporter",
    ],
    ["gemini-cli", { telemetry: { enabled: false } }, "settings", "other_exporter"],
    ["gemini-cli", { telemetry: { target: "gcp" } }, "settings", "other_exporter"],
    ["gemini-cli", { telemetry: { outfile: "x.log" } }, "settings", "other_exporter"],
    ["gemini-cli", { GEMINI_TELEMETRY_OTLP_ENDPOINT: "https://c" }, "env", "other_exporter"],
    ["qwen-code", { telemetry: { otlpLogsEndpoint: "https://c" } }, "settings", "other_exporter"],
    ["qwen-code", { env: { QWEN_TELEMETRY_ENABLED: "0" } }, "settings", "other_exporter"],
    ["opencode", { experimental: { openTelemetry: false } }, "settings", "other_exporter"],
  ] as const)("are a conflict for %s: %j", (family, settings, id, reason) => {
    expect(planned(family, settings, id).conflicts).toMatchObject([{ reason }]);
    expect(planned(family, settings, id, true).conflicts).toEqual([]);
  });

  it.each([
    ["claude-code", {}],
    ["claude-code", { env: { OTEL_METRICS_EXPORTER: "prometheus" } }],
    [
      "claude-code",
      { env: { OTEL_METRICS_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "https://c" } },
    ],
    ["claude-code", { env: { OTEL_RESOURCE_ATTRIBUTES: "team=a" } }],
    ["codex", { otel: { exporter: "none", log_user_prompt: false } }],
    ["gemini-cli", { telemetry: { logPrompts: true } }],
    ["qwen-code", { telemetry: { resourceAttributes: { "host.name": "mine" } } }],
  ] as const)("are none for %s: %j", (family, settings) => {
    expect(planned(family, settings).conflicts).toEqual([]);
  });

  it("keep what a person chose where nothing depends on it", () => {
    const after = (family: string, settings: object) =>
      withChanges(settings as Record<string, unknown>, planned(family, settings).changes);
    expect(at(after("gemini-cli", { telemetry: { logPrompts: true } }), ["telemetry", "logPrompts"])).toBe(
      true,
    );
    const attributes = ["env", "OTEL_RESOURCE_ATTRIBUTES"];
    const added = (text: string) =>
      at(after("claude-code", { env: { OTEL_RESOURCE_ATTRIBUTES: text } }), attributes);
    expect(added("team=a, ")).toBe("team=a,host.name=laptop");
    expect(added("host.name=mine,team=a")).toBe("host.name=mine,team=a");
    expect(added("")).toBe("host.name=laptop");
  });

  it("are shown without passwords and without headers", () => {
    const settings = {
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: "https://me:secret@c.example/x",
        OTEL_EXPORTER_OTLP_HEADERS: "a=secret",
      },
    };
    expect(planned("claude-code", settings).conflicts.map(({ found }) => found)).toEqual([
      "https://c.example/x",
      undefined,
    ]);
  });

  it("never are lost without a conflict that names them", () => {
    const names = fileOf("claude-code").settings.map(({ path }) => path.at(-1)!);
    const env = fc.dictionary(
      fc.constantFrom(...names, "OTHER", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"),
      fc.stringMatching(/^[a-z,:/=]{0,12}$/),
    );
    fc.assert(
      fc.property(env, (found) => {
        const settings = { env: found };
        const { changes, conflicts } = planned("claude-code", settings);
        const after = withChanges(settings, changes);
        for (const [name, value] of Object.entries(found)) {
          const now = at(after, ["env", name]);
          const isNamed = conflicts.some(({ path }) => path.at(-1) === name);
          const isKept =
            now === value || (value !== "" && String(now).startsWith(value.replace(/[,\s]+$/, "")));
          expect(
            isNamed || isKept || (name === "OTEL_RESOURCE_ATTRIBUTES" && value.trim() === ""),
            name,
          ).toBe(true);
        }
        expect(
          planned("claude-code", after, "settings").changes.every(
            ({ path, value }) => at(after, path) === value,
          ),
        ).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

it.each([
  ["alias copilot='copilot --banner'", true],
  ["  copilot() { command copilot; }", true],
  ["function copilot { command copilot; }", true],
  ["alias copilots='x'\n# alias copilot='x'\nexport copilot=1", false],
  ["# >>> plimsoll copilot >>>\ncopilot() { x; }\n# <<< plimsoll copilot <<<", false],
])("a start file with %j hides our function: %s", (text, hides) => {
  expect(ownFunctions("copilot", text)).toHaveLength(hides ? 1 : 0);
});

it("names variables of the shell that a harness prefers", () => {
  const env = {
    GEMINI_TELEMETRY_ENABLED: "true",
    GEMINI_TELEMETRY_TARGET: "gcp",
    OTEL_EXPORTER_OTLP_HEADERS: "a=b",
  };
  expect(harnessOf("gemini-cli").winningVariables?.(env)).toEqual([
    "OTEL_EXPORTER_OTLP_HEADERS",
    "GEMINI_TELEMETRY_TARGET",
  ]);
  expect(harnessOf("claude-code").winningVariables).toBeUndefined();
});

describe("what to paste", () => {
  it.each(
    CONNECTABLE_HARNESSES.flatMap(({ family, files }) =>
      files(VALUES).map((file) => [family, file.id, file] as const),
    ),
  )("for %s %s says what connect writes", async (_family, _id, file) => {
    const { settingsText } = await import("@plimsoll/harnesses/connect");
    const pasted = file.format === "shell" ? undefined : parseSettings(file.format, settingsText(file));
    const written = editSettings(file.format, "", file.settings);
    if (pasted === undefined) expect(written).toContain(settingsText(file));
    else expect(parseSettings(file.format, written)).toEqual(pasted);
  });
});
