import { expect, test, vi } from "vitest";
import { lazyModule } from "./lazy-module.ts";

test("a module is loaded once, however often it is wanted", async () => {
  const open = vi.fn(async () => ({ name: "overlays" }));
  const module = lazyModule(open);
  expect(module.current()).toBeUndefined();
  const [first, second] = await Promise.all([module.load(), module.load()]);
  expect(first).toEqual({ name: "overlays" });
  expect(second).toBe(first);
  expect(await module.load()).toBe(first);
  expect(module.current()).toBe(first);
  expect(open).toHaveBeenCalledTimes(1);
});

test("a listener hears of the loaded module until it is removed", async () => {
  const module = lazyModule(async () => 1);
  const kept = vi.fn(() => expect(module.current()).toBe(1));
  const removed = vi.fn();
  module.subscribe(kept);
  module.subscribe(removed)();
  await module.load();
  expect(kept).toHaveBeenCalledTimes(1);
  expect(removed).not.toHaveBeenCalled();
});

test("a failed load rejects nothing, and the next one tries again", async () => {
  const open = vi
    .fn<() => Promise<number>>()
    .mockRejectedValueOnce(new Error("offline"))
    .mockResolvedValue(7);
  const module = lazyModule(open);
  const listener = vi.fn();
  module.subscribe(listener);
  expect(await module.load()).toBeUndefined();
  expect(listener).not.toHaveBeenCalled();
  expect(await module.load()).toBe(7);
  expect(listener).toHaveBeenCalledTimes(1);
});
