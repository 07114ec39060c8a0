const PROVIDERS: Readonly<Record<string, string>> = { anthropic: "Anthropic", openai: "OpenAI" };

/** A limit as the API shows it. */
export interface NamedQuota {
  provider: string;
  limit: string;
  window_minutes: number | null;
}

/** The name of a quota for people: "Anthropic 5-hour", "Anthropic 7-day opus". */
export function quotaName({ provider, limit, window_minutes }: NamedQuota): string {
  const window = window_minutes === null ? null : windowName(window_minutes);
  // What the length of the window says already, and Codex' own name, add nothing.
  const rest = window === null ? limit : limit.replace(/^(five_hour|seven_day|codex$)_?/, "");
  return [PROVIDERS[provider] ?? provider, window, rest.replaceAll("_", " ")].filter(Boolean).join(" ");
}

function windowName(minutes: number): string {
  if (minutes % (24 * 60) === 0) return `${minutes / (24 * 60)}-day`;
  return minutes % 60 === 0 ? `${minutes / 60}-hour` : `${minutes}-minute`;
}
