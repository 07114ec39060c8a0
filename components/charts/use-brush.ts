import type { BoundaryType } from "@plimsoll/protocol/events";
import { useLayoutEffect, useRef, useState } from "react";
import { type Brushed, brushed, type TimeRange } from "./brush.ts";

/** A part of a bar: the start of its bucket, epoch ms, and what it counts. */
export interface Mark {
  at: number;
  reason: BoundaryType | undefined;
}

interface BrushOptions {
  /** Bucket length in ms. */
  step: number;
  range: TimeRange;
  /** The start of the bucket that a label of the axis stands for. */
  bucketOf: (label: number) => number;
  /** Takes the mark under a press, if there is one. Its bucket is surer than the label that Recharts knows. */
  takeMark?: () => Mark | undefined;
  /** The bucket under the pointer, epoch ms; null if there is none. */
  onHover: (at: number | null) => void;
  onBrush: (brushed: Brushed, reason?: BoundaryType) => void;
}

interface Drag {
  pressed?: number;
  reached?: number;
  moved: boolean;
  mark?: Mark;
}

/** What Recharts says of the pointer. */
interface Pointed {
  activeLabel?: string | number | undefined;
}

export interface Brush {
  /** The buckets between press and pointer, in ms, while the pointer is down on more than one. */
  selected: TimeRange | null;
  /** Handlers of a chart of Recharts. */
  handlers: Record<"onMouseDown" | "onMouseMove" | "onMouseUp", (pointed: Pointed) => void> & {
    onMouseLeave: () => void;
  };
}

/** Selects a range of a chart by dragging, or one bucket by a click. The handlers stay the same, so that the chart need not be drawn again. */
export function useBrush(options: BrushOptions): Brush {
  // Recharts may not know the bucket yet when the button is pressed at once after a move.
  const [drag, setDrag] = useState<Drag | null>(null);
  const latest = useRef({ options, drag });
  useLayoutEffect(() => {
    latest.current = { options, drag };
  });
  const [handlers] = useState((): Brush["handlers"] => {
    const labelOf = ({ activeLabel }: Pointed) =>
      activeLabel === undefined ? undefined : latest.current.options.bucketOf(Number(activeLabel));
    return {
      onMouseDown(pointed) {
        const mark = latest.current.options.takeMark?.();
        const at = mark?.at ?? labelOf(pointed);
        setDrag({
          moved: false,
          ...(at !== undefined && { pressed: at, reached: at }),
          ...(mark !== undefined && { mark }),
        });
      },
      onMouseMove(pointed) {
        const { options, drag } = latest.current;
        const at = labelOf(pointed);
        options.onHover(at ?? null);
        if (at !== undefined && drag !== null && drag.reached !== at)
          setDrag({ ...drag, pressed: drag.pressed ?? at, reached: at, moved: true });
      },
      onMouseUp(pointed) {
        const { options, drag } = latest.current;
        // A click without a move is on what was pressed, whatever label Recharts has caught up with.
        const at = drag?.moved ? (labelOf(pointed) ?? drag.reached) : (drag?.pressed ?? labelOf(pointed));
        setDrag(null);
        if (drag !== null && at !== undefined) {
          const { step, range } = options;
          options.onBrush(brushed(drag.pressed ?? at, at, step, range), drag.mark?.reason);
        }
      },
      onMouseLeave() {
        latest.current.options.onHover(null);
        setDrag(null);
      },
    };
  });
  const { step, range } = options;
  const chosen =
    drag?.pressed === undefined ? null : brushed(drag.pressed, drag.reached ?? drag.pressed, step, range);
  return { selected: chosen?.intent === "zoom" ? chosen : null, handlers };
}
