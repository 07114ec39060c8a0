import type { RebuildCause } from "@plimsoll/protocol/pure";
import type { BoundaryLook } from "./boundary-looks.ts";
import { boundaryLook } from "./boundary-looks.ts";

type Look = Pick<BoundaryLook, "colour" | "texture">;

/** How the causes of rebuilt caches look, in the order of stacks and legends. Those of falls look like the falls. */
export const REBUILD_LOOKS: Readonly<Record<RebuildCause, Look>> = {
  idle: { colour: "var(--water)", texture: "" },
  tools_or_system: { colour: "var(--line)", texture: "M0 1.5H6" },
  edited: { colour: "var(--soft)", texture: "M1.5 3h.01M4.5 0h.01M4.5 6h.01" },
  model_changed: { colour: "var(--ok)", texture: "M0 3H6M3 0V6" },
  compacted: boundaryLook("compacted"),
  masked: boundaryLook("masked"),
  new_window: boundaryLook("restarted"),
  unexplained_fall: boundaryLook("unexplained"),
  unknown: { colour: "var(--muted)", texture: "M1.5 0V6M4.5 0V6" },
};
