/** @jsxImportSource #jsx */
import { exact } from "../format.ts";

interface Props {
  /** Of the bar below the top of the plot, px. */
  top: number;
  /** Height of the bar, px. */
  height: number;
  /** What the bar consists of, from the bottom. */
  counts: readonly { name: string; count: number }[];
  /** False if there is no room beside the bar. */
  isLabelled: boolean;
}

/** A part lower than this has no room for its number. */
const LABEL_PX = 11;
const HALF_WIDTH = 8;

/** A bar higher than its axis: a break below its top, the sum above it, and the count of each part beside it. */
export function CappedMark({ top, height, counts, isLabelled }: Props) {
  const sum = counts.reduce((total, { count }) => total + count, 0);
  const some = counts.filter(({ count }) => count > 0);
  let below = 0;
  const parts = some.map(({ name, count }) => {
    const size = (count / sum) * height;
    const middle = top + height - below - size / 2;
    below += size;
    return { name, count, middle, fits: size >= LABEL_PX };
  });
  const [left, right] = [-HALF_WIDTH, HALF_WIDTH];
  return (
    <g data-testid="outlier">
      <path
        d={`M${left} ${top + 12}L${right} ${top + 6}V${top + 10}L${left} ${top + 16}Z`}
        fill="var(--panel)"
        stroke="var(--muted)"
        strokeWidth={0.8}
      />
      {isLabelled && (
        <g textAnchor="end" className="chart-text" paintOrder="stroke" stroke="var(--panel)" strokeWidth={3}>
          <text x={right} y={top - 4} fontWeight={600}>
            {exact(sum)}
          </text>
          {parts
            .filter(({ fits }) => fits)
            .map(({ name, count, middle }) => (
              <text key={name} x={left - 2} y={middle + 4}>
                {exact(count)}
              </text>
            ))}
        </g>
      )}
    </g>
  );
}
