import type { CrossingOrigin, ProvenBasis, WindowSource } from "@plimsoll/protocol";
import { CROSSING_ORIGINS, WINDOW_SOURCES } from "@plimsoll/protocol";

/** Small numbers that stand for enums in the database. Their order is stored: append, never reorder. */
const BASES = ["unproven", "inclusive", "exclusive"] as const satisfies readonly ProvenBasis[];

export const basisCode = (basis: "inclusive" | "exclusive" | undefined) => (basis ? BASES.indexOf(basis) : 0);
export const basisOf = (code: number) =>
  code === 0 ? undefined : (BASES[code] as "inclusive" | "exclusive");
export const sourceCode = (source: WindowSource) => WINDOW_SOURCES.indexOf(source);
export const sourceOf = (code: number): WindowSource => WINDOW_SOURCES[code] ?? "unknown";
export const crossingOriginCode = (origin: CrossingOrigin) => CROSSING_ORIGINS.indexOf(origin);
export const crossingOriginOf = (code: number): CrossingOrigin => CROSSING_ORIGINS[code] ?? "derived";

export const PURPOSE = { inference: 0, compaction: 1 } as const;
/** Who wrote a row of `boundaries`. */
export const BOUNDARY_ORIGIN = { reported: 0, inferred: 1 } as const;
