import { expect, it } from "vitest";
import { minimise, minimiseBytes } from "./minimise.ts";

it("keeps exactly what makes the input fail", async () => {
  const text = `${"x".repeat(500)}{"a":1e999}${"y".repeat(500)}`;
  const smallest = await minimiseBytes(Buffer.from(text), (bytes) => bytes.includes("1e999"));
  expect(smallest.toString()).toBe("1e999");
});

it("keeps parts that fail only together", async () => {
  const items = Array.from({ length: 64 }, (_, index) => index);
  const smallest = await minimise(items, (left) => left.includes(3) && left.includes(60));
  expect(smallest).toEqual([3, 60]);
});

it("stops after the given number of tries", async () => {
  let tries = 0;
  const smallest = await minimise(
    Array.from({ length: 10_000 }, (_, index) => index),
    () => {
      tries += 1;
      return false;
    },
    20,
  );
  expect([tries, smallest.length]).toEqual([20, 10_000]);
});
