/** Longer texts are no browser's. */
const LONGEST = 1_000;

/** The first that matches. Most browsers also claim to be the ones below them. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:A|iOS|e)?\//, "Edge"],
  [/\bOPR\/|\bOPT\//, "Opera"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|Chromium|CriOS)\//, "Chrome"],
  [/\bVersion\/[\d.]+ .*\bSafari\//, "Safari"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPod)\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMacintosh\b/, "macOS"],
  [/\bFreeBSD\b/, "FreeBSD"],
  [/\bLinux\b/, "Linux"],
];

/** A program that is no browser, such as curl/8.5.0. */
const PROGRAM = /^[A-Za-z][\w.-]{0,30}(?:\/[\w.-]{1,20})?(?=$|[ ;(])/;

/**
 * A short name such as `Firefox on Linux`. The header is whatever its sender wrote: nothing of it is taken but the name of
 * a program in plain letters.
 * @returns null if the header says nothing
 */
export function browserName(userAgent: string | undefined): string | null {
  const text = (userAgent ?? "").slice(0, LONGEST);
  const browser = BROWSERS.find(([pattern]) => pattern.test(text))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(text))?.[1];
  if (browser === undefined) {
    const program = PROGRAM.exec(text)?.[0];
    return program === undefined || program.startsWith("Mozilla/") ? (system ?? null) : program;
  }
  return system === undefined ? browser : `${browser} on ${system}`;
}
