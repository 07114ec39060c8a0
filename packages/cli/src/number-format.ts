/** A number with thousands separators: 4,100. */
export function number(value: number): string {
  return value.toLocaleString("en-US");
}

/** A short token count: 850, 12.3k, 184k, 1M. */
export function tokens(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 999_500) return `${trim(value / 1_000)}k`;
  return `${trim(value / 1_000_000)}M`;
}

function trim(value: number): string {
  return value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

/** A fraction as a percentage, with one decimal below 100 %: 19.2%. */
export function percent(share: number): string {
  const value = share * 100;
  return `${value >= 99.95 || value === 0 ? Math.round(value) : value.toFixed(1)}%`;
}

/** An age in milliseconds as text: "18 s ago". */
export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h ago`;
  return `${Math.round(seconds / 86_400)} d ago`;
}

/** A time to come in milliseconds as text: "in 12 d". */
export function ahead(ms: number): string {
  if (ms < 3_600_000) return `in ${Math.max(1, Math.round(ms / 60_000))} min`;
  if (ms < 2 * 86_400_000) return `in ${Math.round(ms / 3_600_000)} h`;
  return `in ${Math.round(ms / 86_400_000)} d`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}
