/** @jsxImportSource #jsx */
import type { AlertTimeline } from "@plimsoll/protocol/api";
import { useZone } from "../clock.tsx";
import { clockMinute, plural } from "../format.ts";
import { cn } from "../ui/cn.ts";
import { firedText } from "./alert-text.ts";

interface Props {
  timeline: AlertTimeline;
  ruleId: string;
  /** Alerts that are open now: the timeline may be older. */
  firing: number;
}

/** When a rule fired in the last 24 h: one cell for each half hour, the present one last. */
export function RuleStrip({ timeline, ruleId, firing: now }: Props) {
  const zone = useZone();
  const known = timeline.rules.find(({ id }) => id === ruleId)?.firing ?? new Array<number>(48).fill(0);
  const steps = known.with(-1, Math.max(known.at(-1) ?? 0, now));
  const from = Date.parse(timeline.from);
  const timeOf = (step: number) => clockMinute(from + step * timeline.step_ms, zone);
  const text = firedText(steps, timeOf);
  return (
    <div
      role="img"
      aria-label={text}
      title={text}
      className="flex h-4 items-end gap-px"
      data-testid="rule-strip"
    >
      {steps.map((firing, step) => (
        <span
          key={timeOf(step)}
          title={firing === 0 ? undefined : `${timeOf(step)}: ${plural(firing, "alert")}`}
          className={cn("min-w-0 flex-1 rounded-[1px]", firing === 0 ? "h-1 bg-edge" : "h-4 bg-hard")}
        />
      ))}
    </div>
  );
}
