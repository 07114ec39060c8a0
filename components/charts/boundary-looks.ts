/** The color and shape of each boundary type. The shape keeps types distinct without color. */
export const GLYPH_SHAPES = ["square", "triangle", "circle", "diamond", "cross", "ring", "alert"] as const;
export type GlyphShape = (typeof GLYPH_SHAPES)[number];

export interface BoundaryLook {
  colour: string;
  shape: GlyphShape;
}

const LOOKS: Readonly<Record<string, BoundaryLook>> = {
  masked: { colour: "var(--soft)", shape: "square" },
  compacted: { colour: "var(--ok)", shape: "triangle" },
  subtick: { colour: "var(--water)", shape: "circle" },
  restarted: { colour: "var(--warn)", shape: "diamond" },
  cleared: { colour: "var(--line)", shape: "cross" },
  unexplained: { colour: "var(--hard)", shape: "alert" },
};

export function boundaryLook(type: string): BoundaryLook {
  return LOOKS[type] ?? { colour: "var(--warn)", shape: "ring" };
}

/** Order of types in stacks and legends. */
export const BOUNDARY_ORDER: readonly string[] = Object.keys(LOOKS);
