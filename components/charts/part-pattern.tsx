import type { CompositionPart } from "./composition-parts.ts";

type Name = CompositionPart["name"];

/** A texture for each part of the window, so that parts differ without color. `d` is drawn on a tile of 6 px. */
const TEXTURES: Readonly<Record<Name, string>> = {
  system: "",
  tools: "M-1 1L1-1M0 6L6 0M5 7L7 5",
  memory: "M1.5 3h.01M4.5 0h.01M4.5 6h.01",
  history: "M0 1.5H6",
  tool_output: "M-1 5L1 7M0 0L6 6M5-1L7 1",
  other: "M0 3H6M3 0V6",
  rest: "M1.5 0V6M4.5 0V6",
};

/** Fills of the parts of the window, for `url(#…)`. Put it once into a drawing. */
export function PartPatterns({
  id,
  parts,
}: {
  id: string;
  parts: readonly Pick<CompositionPart, "name" | "colour">[];
}) {
  return (
    <defs>
      {parts.map(({ name, colour }) => (
        <pattern key={name} id={`${id}${name}`} width={6} height={6} patternUnits="userSpaceOnUse">
          <rect width={6} height={6} fill={colour} />
          <path
            d={TEXTURES[name]}
            stroke="var(--panel)"
            strokeWidth={1.4}
            strokeLinecap="round"
            fill="none"
            data-texture={name}
          />
        </pattern>
      ))}
    </defs>
  );
}

/** The fill of one part, for a legend. */
export function PartSwatch({ id, name }: { id: string; name: Name }) {
  return (
    <svg aria-hidden width={12} height={12} className="shrink-0">
      <rect x={0.5} y={0.5} width={11} height={11} rx={2} fill={`url(#${id}${name})`} stroke="var(--edge)" />
    </svg>
  );
}
