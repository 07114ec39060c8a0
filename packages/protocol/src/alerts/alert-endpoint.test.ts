import { describe, expect, it } from "vitest";
import { AlertEndpointTarget } from "./alert-endpoint.ts";

describe("the address of an ntfy endpoint", () => {
  const isValid = (url: string) => AlertEndpointTarget.safeParse({ kind: "ntfy", url }).success;

  it("ends with a topic", () => {
    expect(["https://ntfy.sh/my-topic", "https://ntfy.example/sub/a_1/"].filter(isValid)).toHaveLength(2);
    const wrong = [
      "https://ntfy.sh",
      "https://ntfy.sh/",
      "https://ntfy.sh/a%20b",
      `https://ntfy.sh/${"x".repeat(65)}`,
    ];
    expect(wrong.filter(isValid)).toEqual([]);
  });
});
