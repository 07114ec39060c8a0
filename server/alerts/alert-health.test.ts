import { describe, expect, it } from "vitest";
import { evaluationAge } from "./alert-health.ts";

const NOW = Date.UTC(2026, 10, 20);
/** A UUID of version 7. */
const idAt = (at: number) =>
  `${at.toString(16).padStart(12, "0").replace(/^.{8}/, "$&-")}-7000-8000-000000000000`;
const facts = { rules: 1, changedAt: NOW - 3_600_000, now: NOW, renewedAt: NOW, signal: null };

describe("the age of the evaluation", () => {
  it("is the time since the evaluator renewed its lease", () => {
    expect(evaluationAge(facts)).toBe(0);
    expect(evaluationAge({ ...facts, renewedAt: NOW - 1_500 })).toBe(1_500);
    expect(evaluationAge({ ...facts, renewedAt: NOW - 60_000 })).toBe(60_000);
  });

  it("is unknown without rules, whatever an earlier evaluator left", () => {
    expect(evaluationAge({ ...facts, rules: 0, changedAt: null, renewedAt: 0 })).toBeUndefined();
  });

  it("begins when the first rule is switched on", () => {
    expect(evaluationAge({ ...facts, changedAt: NOW - 400, renewedAt: null })).toBe(400);
    expect(evaluationAge({ ...facts, changedAt: NOW - 400, renewedAt: NOW - 9e9 })).toBe(400);
  });

  it("is never negative, also if the database's clock was set back", () => {
    expect(evaluationAge({ ...facts, renewedAt: NOW + 3_600_000 })).toBe(0);
    expect(evaluationAge({ ...facts, renewedAt: null, changedAt: NOW + 5_000 })).toBe(0);
  });

  it("is that of an old signal if the evaluator renews its lease and reads nothing", () => {
    expect(evaluationAge({ ...facts, signal: idAt(NOW - 400_000) })).toBe(400_000);
  });

  it("does not follow a signal of a process whose clock is some minutes off", () => {
    expect(evaluationAge({ ...facts, signal: idAt(NOW - 290_000) })).toBe(0);
    expect(evaluationAge({ ...facts, signal: idAt(NOW + 290_000) })).toBe(0);
  });
});
