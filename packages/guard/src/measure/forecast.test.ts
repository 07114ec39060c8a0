import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateTokens } from "./estimate.ts";
import { CallForecast } from "./forecast.ts";

const text = (words: number) => "a few words of text ".repeat(words);

describe("a forecast of the next call", () => {
  it("is exact for growth that is known", () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.array(fc.nat(5_000)), (first, steps) => {
        const forecast = new CallForecast();
        forecast.counted(first);
        let level = first;
        for (const tokens of steps) {
          expect(forecast.next({ tokens }).tokens).toBe(level + tokens);
          forecast.grow({ tokens });
          level += tokens;
          forecast.counted(level);
        }
      }),
    );
  });

  it("learns from counts how many tokens a text has", () => {
    const forecast = new CallForecast();
    forecast.counted(10_000);
    let level = 10_000;
    for (let step = 0; step < 6; step++) {
      forecast.grow({ content: text(200), tokens: 300 });
      level += Math.round(estimateTokens(text(200)) * 1.4) + 300;
      forecast.counted(level);
    }
    const more = Math.round(estimateTokens(text(500)) * 1.4);
    expect(forecast.next({ content: text(500) }).tokens / (level + more)).toBeCloseTo(1, 1);
  });

  it("follows a context that shrank, as after a compaction", () => {
    const forecast = new CallForecast();
    forecast.counted(100_000);
    forecast.grow({ content: text(1_000) });
    forecast.counted(8_000);
    expect(forecast.next().tokens).toBe(8_000);
    expect(forecast.next({ content: text(100) }).tokens).toBe(8_000 + Math.round(estimateTokens(text(100))));
  });

  it("learns nothing from a count that includes unknown content", () => {
    const forecast = new CallForecast();
    forecast.counted(1_000);
    forecast.grow({ content: text(10) });
    forecast.counted(50_000, false);
    expect(forecast.next({ content: text(100) }).tokens).toBe(50_000 + Math.round(estimateTokens(text(100))));
  });

  it("keeps the size of system prompt and tools for a fresh context", () => {
    const forecast = new CallForecast();
    forecast.grow({ content: text(100) });
    forecast.counted(12_000 + Math.round(estimateTokens(text(100))));
    forecast.fresh();
    forecast.grow({ content: text(50) });
    expect(forecast.next().tokens / (12_000 + estimateTokens(text(50)))).toBeCloseTo(1, 2);
  });
});
