import { useState } from "react";
import { type Brushed, brushed, type TimeRange } from "./brush.ts";

interface BrushOptions {
  /** Bucket length in ms. */
  step: number;
  range: TimeRange;
  /** The start of the bucket that a label of the axis stands for. */
  bucketOf: (label: number) => number;
  /** The bucket under the pointer, epoch ms; null if there is none. */
  onHover: (at: number | null) => void;
  onBrush: (brushed: Brushed) => void;
}

/** What Recharts says of the pointer. */
interface Pointed {
  activeLabel?: string | number | undefined;
}

interface Brush {
  /** The buckets between press and pointer, in ms, while the pointer is down on more than one. */
  selected: TimeRange | null;
  /** Handlers of a chart of Recharts. */
  handlers: Record<"onMouseDown" | "onMouseMove" | "onMouseUp", (pointed: Pointed) => void> & {
    onMouseLeave: () => void;
  };
}

/** Selects a range of a chart by dragging, or one bucket by a click. */
export function useBrush({ step, range, bucketOf, onHover, onBrush }: BrushOptions): Brush {
  // Recharts may not know the bucket yet when the button is pressed at once after a move.
  const [drag, setDrag] = useState<{ pressed?: number; reached?: number } | null>(null);
  const labelOf = ({ activeLabel }: Pointed) =>
    activeLabel === undefined ? undefined : bucketOf(Number(activeLabel));
  const chosen =
    drag?.pressed === undefined ? null : brushed(drag.pressed, drag.reached ?? drag.pressed, step, range);
  return {
    selected: chosen?.intent === "zoom" ? chosen : null,
    handlers: {
      onMouseDown(pointed) {
        const at = labelOf(pointed);
        setDrag(at === undefined ? {} : { pressed: at, reached: at });
      },
      onMouseMove(pointed) {
        const at = labelOf(pointed);
        onHover(at ?? null);
        if (at !== undefined && drag !== null && drag.reached !== at)
          setDrag({ pressed: drag.pressed ?? at, reached: at });
      },
      onMouseUp(pointed) {
        const at = labelOf(pointed) ?? drag?.reached;
        setDrag(null);
        if (drag !== null && at !== undefined) onBrush(brushed(drag.pressed ?? at, at, step, range));
      },
      onMouseLeave() {
        onHover(null);
        setDrag(null);
      },
    },
  };
}
