/** @jsxImportSource #jsx */
import { boundaryLook } from "./boundary-looks.ts";

const PATHS = {
  square: "M-4-4H4V4H-4Z",
  triangle: "M0-5L5 4H-5Z",
  circle: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0Z",
  diamond: "M0-5.5L5.5 0L0 5.5L-5.5 0Z",
  cross: "M-4-4L4 4M4-4L-4 4",
  ring: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
  alert: "M-2.5-6H2.5L6-2.5V2.5L2.5 6H-2.5L-6 2.5V-2.5Z",
} as const;

/** The symbol of a boundary type, centered on 0,0, for use inside an SVG chart. */
export function BoundaryGlyphPath({ type }: { type: string }) {
  const { colour, shape } = boundaryLook(type);
  const open = shape === "cross" || shape === "ring";
  return (
    <>
      <path
        d={PATHS[shape]}
        fill={open ? "var(--panel)" : colour}
        stroke={open ? colour : "none"}
        strokeWidth={open ? 2 : 0}
        data-shape={shape}
      />
      {shape === "alert" && (
        <path d="M0-3.6V.6M0 2.6V3.4" stroke="var(--panel)" strokeWidth={1.8} strokeLinecap="round" />
      )}
    </>
  );
}

export function BoundaryGlyph({ type, className }: { type: string; className?: string }) {
  return (
    <svg width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true" className={className}>
      <BoundaryGlyphPath type={type} />
    </svg>
  );
}
