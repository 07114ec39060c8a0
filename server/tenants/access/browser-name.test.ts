import { describe, expect, it } from "vitest";
import { browserName } from "./browser-name.ts";

const LINUX = "Mozilla/5.0 (X11; Linux x86_64)";
const CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

describe("the name of a browser", () => {
  it.each([
    ["Firefox on Linux", "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0"],
    ["Firefox on Android", "Mozilla/5.0 (Android 15; Mobile; rv:142.0) Gecko/142.0 Firefox/142.0"],
    [
      "Firefox on iPhone",
      "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/142.0 Mobile/15E148 Safari/605.1.15",
    ],
    ["Chrome on Linux", `${LINUX} ${CHROME}`],
    ["Chrome on Linux", `${LINUX} ${CHROME.replace("Chrome/", "HeadlessChrome/")}`],
    ["Chrome on ChromeOS", `Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${CHROME}`],
    ["Chrome on Windows", `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME}`],
    ["Edge on Windows", `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${CHROME} Edg/141.0.0.0`],
    ["Opera on macOS", `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${CHROME} OPR/122.0.0.0`],
    [
      "Samsung Internet on Android",
      `Mozilla/5.0 (Linux; Android 15; SM-S931B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
    ],
    [
      "Safari on macOS",
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15",
    ],
    [
      "Safari on iPad",
      "Mozilla/5.0 (iPad; CPU OS 17_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.7 Mobile/15E148 Safari/604.1",
    ],
    ["curl/8.5.0", "curl/8.5.0"],
    ["python-requests/2.32.3", "python-requests/2.32.3"],
    ["node", "node"],
    ["Linux", LINUX],
    [null, "Mozilla/5.0"],
    [null, ""],
    [null, undefined],
  ])("is %s", (name, userAgent) => {
    expect(browserName(userAgent)).toBe(name);
  });

  it.each([
    "\u001b[2J\u001b[31mroot",
    "\u202egnp.exe",
    '<script>alert("x")</script>',
    "' OR 1=1 --",
    "a".repeat(100_000),
    `${"(".repeat(50_000)}Version/1.${"1 ".repeat(20_000)}`,
    "Firefoxplim_abcdefg_0123456789/1",
  ])("takes nothing else from the header: %#", (userAgent) => {
    const begun = performance.now();
    const name = browserName(userAgent);
    expect(performance.now() - begun).toBeLessThan(5_000);
    if (name !== null) expect(name).toMatch(/^[\w./ -]{1,60}$/);
  });
});
