import type { BoundaryType } from "@plimsoll/protocol/events";
import type { Brushed } from "./brush.ts";

/** What the charts of a page share, and what a pointer on one of them does. */
export interface ChartActions {
  /** The time under the pointer on another chart, epoch ms; null if there is none. */
  crosshair: number | null;
  onHover: (at: number | null) => void;
  /** `reason` if one part of a bar was chosen. */
  onBrush: (brushed: Brushed, reason?: BoundaryType) => void;
  /** Where the sessions behind a bucket are listed. Epoch ms. */
  hrefOf: (bucket: { from: number; to: number }) => string;
}
