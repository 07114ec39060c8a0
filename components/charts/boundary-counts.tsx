/** @jsxImportSource #jsx */
import { compact, NONE } from "../format.ts";
import { BOUNDARY_COUNTS, type BoundaryTally, countsText } from "../words.ts";
import { BoundaryGlyph } from "./boundary-glyph.tsx";

/** The symbol and count of each boundary type, with a text alternative. */
export function BoundaryCounts({ row }: { row: BoundaryTally }) {
  const some = BOUNDARY_COUNTS.filter(([, field]) => row[field] > 0);
  if (some.length === 0) {
    return (
      <span className="text-faint max-lg:hidden" title="No boundaries">
        {NONE}
      </span>
    );
  }
  const words = countsText(row);
  return (
    <span className="inline-flex items-center flex-wrap gap-x-2" title={words}>
      <span className="sr-only">{words}</span>
      {some.map(([type, field]) => (
        <span key={type} aria-hidden className="inline-flex items-center gap-1">
          <BoundaryGlyph type={type} />
          {compact(row[field])}
        </span>
      ))}
    </span>
  );
}
