const ZERO = 48;
const COMMA = 44;
const OPEN = 123;
const CLOSE = 125;
const MINUS = 45;

/**
 * Adds histograms as PostgreSQL writes arrays, `{1,2} {0,0,3}`. It does so in a tenth of the time the same sum takes in
 * SQL, where each number of each histogram becomes a row.
 */
export function sumBins(text: string): number[] {
  const sums: number[] = [];
  let bin = 0;
  let value = 0;
  let negative = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === OPEN) {
      bin = 0;
      value = 0;
    } else if (code === COMMA || code === CLOSE) {
      // The end of `{}` adds a zero, which says nothing.
      if (bin === sums.length) sums.push(0);
      sums[bin]! += negative ? -value : value;
      bin += 1;
      value = 0;
      negative = false;
    } else if (code === MINUS) negative = true;
    else if (code >= ZERO) value = value * 10 + code - ZERO;
  }
  return sums;
}
