import { expect, it } from "vitest";
import { mapCommand, mapSourceName } from "./map-command.ts";

const source = { signal: "traces", service: "my-agent", scope: "my.tracer", name: "" } as const;

it.each([
  [{}, "traces/my-agent/my.tracer"],
  [{ scope: "" }, "traces/my-agent"],
  [{ signal: "logs", scope: "", name: "api_call" }, "logs/my-agent//api_call"],
  [{ service: "", scope: "" }, "traces"],
] as const)("the source %j is named %s", (given, name) => {
  expect(mapSourceName({ ...source, ...given })).toBe(name);
  expect(mapCommand({ ...source, ...given })).toBe(`npx plimsoll map propose ${name}`);
});

it.each(["a b", "a;rm -rf ~", "$(id)", "it's", "`id`", "a\nb", "é"])(
  "the service %j is not put on a shell",
  (service) => {
    expect(mapCommand({ ...source, service })).toBe("npx plimsoll map");
  },
);
