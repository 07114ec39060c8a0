export const GLYPH_SHAPES = ["square", "triangle", "circle", "diamond", "cross", "ring", "alert"] as const;
export type GlyphShape = (typeof GLYPH_SHAPES)[number];

/** How a boundary type looks. Marks differ in shape and bars in texture, so that nobody needs the color. */
export interface BoundaryLook {
  colour: string;
  shape: GlyphShape;
  /** See `Textured`. */
  texture: string;
}

const LOOKS: Readonly<Record<string, BoundaryLook>> = {
  masked: { colour: "var(--soft)", shape: "square", texture: "" },
  compacted: { colour: "var(--ok)", shape: "triangle", texture: "M-1 5L1 7M0 0L6 6M5-1L7 1" },
  subtick: { colour: "var(--water)", shape: "circle", texture: "M1.5 3h.01M4.5 0h.01M4.5 6h.01" },
  restarted: { colour: "var(--warn)", shape: "diamond", texture: "M0 1.5H6" },
  cleared: { colour: "var(--line)", shape: "cross", texture: "M-1 1L1-1M0 6L6 0M5 7L7 5" },
  unexplained: { colour: "var(--hard)", shape: "alert", texture: "M0 3H6M3 0V6" },
};

export function boundaryLook(type: string): BoundaryLook {
  return LOOKS[type] ?? { colour: "var(--warn)", shape: "ring", texture: "M1.5 0V6M4.5 0V6" };
}

/** Order of types in stacks and legends. */
export const BOUNDARY_ORDER: readonly string[] = Object.keys(LOOKS);
