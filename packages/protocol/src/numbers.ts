const whole = /* @__PURE__ */ new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** U+2212, which is as wide as a plus sign. */
export const MINUS = "−";

/** 148,213: all digits. */
export function exact(value: number): string {
  return whole.format(value).replace("-", MINUS);
}

/** 940, 9.4k, 148k, 1.2M: at most three significant digits. */
export function compact(value: number): string {
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : "";
  if (size < 1000) return sign + whole.format(size);
  for (const [unit, letter] of [
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "B"],
  ] as const) {
    const scaled = size / unit;
    const digits = scaled < 99.95 ? 1 : 0;
    const text = scaled.toFixed(digits).replace(/\.0$/, "");
    // 999,960 would round to 1000k; use the next unit.
    if (Number(text) < 1000 || letter === "B") return `${sign}${text}${letter}`;
  }
  return sign + whole.format(size);
}

/** 96%, 132%. A load just below 1 never rounds up to 100%. */
export function loadPercent(load: number): string {
  const rounded = Math.round(load * 100);
  return `${whole.format(rounded === 100 && load < 1 ? 99 : rounded)}%`;
}

/** US dollars: cents from one dollar up, four decimals below. */
export function money(usd: number): string {
  const digits = usd >= 1 || usd === 0 ? 2 : 4;
  return `$${usd.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}
