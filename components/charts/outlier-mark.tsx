/** @jsxImportSource #jsx */
interface Props {
  cx?: number;
  cy?: number;
  /** The value. */
  label: string;
  /** False if there is no room for the value next to the mark. */
  isLabelled: boolean;
}

/** Stands at the top of a chart where a value is beyond the axis. */
export function OutlierMark({ cx = 0, cy = 0, label, isLabelled }: Props) {
  return (
    <g data-testid="outlier">
      <title>{label}, beyond the axis</title>
      <path d={`M${cx} ${cy - 9}l4.5 7h-9Z`} fill="var(--warn)" />
      {isLabelled && (
        <text x={cx - 6} y={cy - 1} textAnchor="end" className="chart-text">
          {label}
        </text>
      )}
    </g>
  );
}
