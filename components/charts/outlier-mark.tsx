/** @jsxImportSource #jsx */
interface Props {
  /** The value. */
  label: string;
  /** False if there is no room for the value next to the mark. */
  isLabelled: boolean;
}

/** Stands at the top of a chart where a value is beyond the axis. */
export function OutlierMark({ label, isLabelled }: Props) {
  return (
    <g data-testid="outlier">
      <path d="M0 -9l4.5 7h-9Z" fill="var(--warn)" />
      {isLabelled && (
        <text x="-6" y="-1" textAnchor="end" className="chart-text">
          {label}
        </text>
      )}
    </g>
  );
}
