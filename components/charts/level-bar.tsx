/** @jsxImportSource #jsx */
import type { AgentView } from "@plimsoll/protocol/api";
import { ChevronRight, ChevronsRight } from "lucide-react";
import { exact, loadPercent, percent } from "../format.ts";
import { cn } from "../ui/cn.ts";
import { levelText } from "../words.ts";
import { type LevelState, levelBarLayout, type ThresholdMark } from "./level.ts";

const FILLS: Readonly<Record<LevelState, string>> = {
  unknown: "hatched",
  suspect: "hatched",
  under: "bg-water",
  warning: "level-warning",
  over: "bg-line",
  danger: "level-danger",
};

const DASHED = "border-l-[1.5px] border-dashed";
const STROKES: Readonly<Record<ThresholdMark["name"], string>> = {
  warning: `${DASHED} border-warn`,
  ceiling: "border-l-2 border-line",
  soft: `${DASHED} border-soft`,
  hard: "border-l-2 border-line",
  reserve: "border-l-2 border-line",
};

const at = (share: number) => `${(share * 100).toFixed(3)}%`;

/**
 * Context tokens in the agent's window, with its thresholds, its peak and the end of the window. A level beyond the end shows
 * its share of the window as a number.
 */
export function LevelBar({ agent, small = false }: { agent: AgentView; small?: boolean }) {
  const bar = levelBarLayout(agent);
  const confirmed = agent.after_boundary?.tokens ?? null;
  return (
    <div
      role="img"
      aria-label={levelText(agent)}
      title={levelText(agent)}
      className={cn("relative", small ? "h-[18px]" : "h-[30px] pt-1")}
    >
      <div
        className={cn(
          "absolute inset-x-0 overflow-hidden rounded-[3px] bg-track",
          small ? "inset-y-[5px]" : "inset-y-[11px]",
        )}
      >
        <div
          className={cn(
            "h-full transition-transform duration-200 motion-reduce:transition-none",
            FILLS[bar.state],
            confirmed !== null && "opacity-55",
          )}
          // Animate a transform, not the width, to avoid layout on every frame.
          style={{ transform: `translateX(${at(bar.fill - 1)})` }}
        />
      </div>
      {bar.scale === "window" && (
        <span
          data-testid="window-end"
          className={cn(
            "absolute right-0 border-l-2 border-muted",
            small ? "inset-y-[2px]" : "inset-y-[7px]",
          )}
        />
      )}
      {bar.peak !== null && bar.peak > 1 && !bar.overflow && (
        <ChevronRight
          aria-hidden
          className={cn("absolute -right-1 text-muted", small ? "top-[3px] size-3" : "top-[9px] size-3.5")}
          strokeWidth={3}
        />
      )}
      {bar.peak !== null && bar.peak <= 1 && (
        <span
          className={cn("absolute w-0.5 -translate-x-px bg-muted", small ? "inset-y-[3px]" : "inset-y-[9px]")}
          style={{ left: at(bar.peak) }}
        />
      )}
      {bar.marks.map((mark) => (
        <span
          key={mark.name}
          className={cn(
            "absolute -translate-x-px",
            small ? "inset-y-0" : "inset-y-[4px]",
            STROKES[mark.name],
          )}
          style={{ left: at(mark.at) }}
        >
          {!small && mark.showLabel && (
            <span
              className={cn(
                "absolute -top-[7px] text-[10px] leading-none whitespace-nowrap text-faint",
                mark.labelSide === "left" ? "right-1.5" : "left-1",
              )}
            >
              {mark.label}
            </span>
          )}
        </span>
      ))}
      {bar.overflow && (
        <span
          className={cn(
            "absolute right-0 inline-flex items-center bg-panel pl-1 text-warn-ink",
            small
              ? "inset-y-0 text-[10px] in-aria-pressed:bg-track"
              : "inset-y-[6px] text-[11px] font-semibold",
          )}
          title={`${exact(agent.context_tokens ?? 0)} tokens, beyond the end of the bar`}
        >
          {!small && (agent.utilization === null ? loadPercent(agent.load ?? 0) : percent(agent.utilization))}
          <ChevronsRight aria-hidden className="size-3.5" />
        </span>
      )}
    </div>
  );
}
