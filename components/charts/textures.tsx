/** @jsxImportSource #jsx */
export interface Textured {
  name: string;
  colour: string;
  /** A path on a tile of 6 px, so that neighbours differ without color. Empty for a plain fill. */
  texture: string;
}

/** Fills with a texture, for `url(#…)`. Put it once into a drawing. `id` begins the id of each fill. */
export function Textures({ id, fills }: { id: string; fills: readonly Textured[] }) {
  return (
    <defs>
      {fills.map(({ name, colour, texture }) => (
        <pattern key={name} id={`${id}${name}`} width={6} height={6} patternUnits="userSpaceOnUse">
          <rect width={6} height={6} fill={colour} />
          <path
            d={texture}
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

/** One of the fills, for a legend. */
export function TextureSwatch({ id, name }: { id: string; name: string }) {
  return (
    <svg aria-hidden width={12} height={12} className="shrink-0">
      <rect x={0.5} y={0.5} width={11} height={11} rx={2} fill={`url(#${id}${name})`} stroke="var(--edge)" />
    </svg>
  );
}
