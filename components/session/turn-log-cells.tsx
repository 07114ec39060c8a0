/** @jsxImportSource #jsx */
import type { RebuildCause } from "@plimsoll/protocol/pure";
import { ArrowDown, ArrowUp, RefreshCw } from "lucide-react";
import { BoundaryGlyph } from "../charts/boundary-glyph.tsx";
import { LocalTime } from "../clock.tsx";
import { clock, compact, duration, exact, NONE, percent, signed } from "../format.ts";
import { cn } from "../ui/cn.ts";
import { CELL } from "../ui/table-roles.ts";
import { boundaryText, costOfTurn, crossingText, REBUILD_CAUSE_TEXT } from "../words.ts";
import type { LogRow } from "./turn-log-rows.ts";
import { sourcesText } from "./turn-sources.ts";

/** Columns that phones have no room for. */
export const WIDE_ONLY = "@max-[560px]:hidden";

/** Columns that are there if a turn has them. */
export interface ExtraColumns {
  duration: boolean;
  cost: boolean;
}

export function TurnCells({
  row: { turn, change, afterFall },
  extra,
  isStop,
  onFocus,
  onTurn,
}: {
  row: Extract<LogRow, { kind: "turn" }>;
  extra: ExtraColumns;
  /** Whether Tab stops at this row; arrow keys move between rows. */
  isStop: boolean;
  onFocus: () => void;
  onTurn: (key: string) => void;
}) {
  const sources = sourcesText([turn]);
  const detail = [
    turn.model,
    `window ${turn.window}`,
    turn.duration_ms === null ? null : `took ${duration(turn.duration_ms)}`,
    costOfTurn(turn) ?? null,
    sources === null ? null : `reported by ${sources}`,
  ]
    .filter(Boolean)
    .join(", ");
  return (
    <>
      <span {...CELL} title={detail}>
        <button
          type="button"
          data-row-link
          tabIndex={isStop ? 0 : -1}
          aria-label={`Turn ${exact(turn.number)}`}
          className="-mx-1 rounded-sm px-1 text-left hover:underline"
          onFocus={onFocus}
          onClick={() => onTurn(turn.key)}
        >
          {exact(turn.number)}
        </button>
      </span>
      <span {...CELL} className="text-muted">
        <LocalTime at={turn.at} format={clock} />
      </span>
      <span {...CELL} className="text-right font-medium">
        {turn.context_tokens === null ? (
          <span className="font-normal text-warn-ink" title="The harness sent no token count">
            not counted
          </span>
        ) : (
          <>
            {turn.estimated && (
              <span
                className="mr-1 text-xs font-normal text-faint"
                title="Estimated by the harness, not counted by the provider"
              >
                about
              </span>
            )}
            {exact(turn.context_tokens)}
          </>
        )}
      </span>
      <span {...CELL} className="text-right">
        {turn.utilization === null ? NONE : percent(turn.utilization)}
      </span>
      <span {...CELL} className={cn("text-right text-muted", WIDE_ONLY)}>
        {turn.cache_rebuild_cause !== null && turn.cache_rebuilt_tokens !== null && (
          <Rebuilt cause={turn.cache_rebuild_cause} tokens={turn.cache_rebuilt_tokens} />
        )}
        {turn.cache_read_tokens === null ? NONE : exact(turn.cache_read_tokens)}
      </span>
      <span {...CELL} className={cn("text-right text-muted", WIDE_ONLY)}>
        {turn.output_tokens === null ? NONE : exact(turn.output_tokens)}
      </span>
      {extra.duration && (
        <span {...CELL} className={cn("text-right text-muted", WIDE_ONLY)}>
          {turn.duration_ms === null ? NONE : duration(turn.duration_ms)}
        </span>
      )}
      {extra.cost && (
        <span {...CELL} className={cn("text-right text-muted", WIDE_ONLY)}>
          {costOfTurn(turn) ?? NONE}
        </span>
      )}
      <span {...CELL} className="text-right">
        {turn.compaction ? (
          <span
            className="text-xs text-faint"
            title="A call that only compacts, so it does not change the level"
          >
            compaction
          </span>
        ) : change === null || (afterFall && change === 0) ? (
          <span title={afterFall ? "The fall before this turn explains the change" : undefined}>{NONE}</span>
        ) : (
          <span title={afterFall ? "Since the fall before this turn" : undefined}>{signed(change)}</span>
        )}
      </span>
    </>
  );
}

function Rebuilt({ cause, tokens }: { cause: RebuildCause; tokens: number }) {
  const text = `${compact(tokens)} tokens of the cache rebuilt: ${REBUILD_CAUSE_TEXT[cause]}`;
  return (
    <span className="mr-1.5 inline-block align-[-2px] text-warn-ink" title={text}>
      <RefreshCw aria-hidden className="size-3.5" />
      <span className="sr-only">{text}. Read from it: </span>
    </span>
  );
}

/** Phones have no hover, so long text wraps instead of being truncated. */
const WORDS = "@max-[560px]:py-1.5 @max-[560px]:leading-snug @min-[560px]:truncate";
const SPAN = "col-[1/-2] flex min-w-0 items-center gap-1.5";

export function BoundaryCells({
  row: { boundary },
  onFall,
}: {
  row: Extract<LogRow, { kind: "boundary" }>;
  onFall: (id: string) => void;
}) {
  const words = boundaryText(boundary);
  return (
    <>
      <span {...CELL} className={SPAN} title={words}>
        <BoundaryGlyph type={boundary.type} className="shrink-0" />
        <span className="shrink-0 text-muted">
          <LocalTime at={boundary.at} format={clock} />
        </span>
        {boundary.explains_fall ? (
          <button
            type="button"
            className={cn(WORDS, "min-w-0 text-left hover:underline")}
            onClick={() => onFall(boundary.id)}
          >
            {words}
          </button>
        ) : (
          <span className={WORDS}>{words}</span>
        )}
      </span>
      <span {...CELL} className="text-right" title="Tokens reclaimed">
        {boundary.reclaimed_tokens === null ? "" : <Reclaimed tokens={boundary.reclaimed_tokens} />}
      </span>
    </>
  );
}

function Reclaimed({ tokens }: { tokens: number }) {
  return (
    <>
      <span className="@max-[560px]:hidden">{signed(-tokens)}</span>
      <span className="@min-[560px]:hidden">{signed(-tokens, compact)}</span>
    </>
  );
}

export function CrossingCells({ row: { crossing } }: { row: Extract<LogRow, { kind: "crossing" }> }) {
  const Arrow = crossing.direction === "up" ? ArrowUp : ArrowDown;
  const words = crossingText(crossing);
  return (
    <>
      <span {...CELL} className={SPAN} title={words}>
        <Arrow
          aria-hidden
          className={cn("size-3 shrink-0", crossing.direction === "up" ? "text-warn-ink" : "text-ok")}
        />
        <span className={WORDS}>{words}</span>
      </span>
      <span {...CELL} />
    </>
  );
}
