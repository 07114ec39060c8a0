/** @jsxImportSource #jsx */
import { hullOf, LINE_AT, placeOfLoad } from "@plimsoll/fold";
import type { AgentView } from "@plimsoll/protocol/api";
import { compact } from "../format.ts";
import { cn } from "../ui/cn.ts";
import { levelText } from "../words.ts";
import { levelState } from "./level.ts";

const at = (share: number) => `${(share * 100).toFixed(3)}%`;

/**
 * An agent's level against its own line, which is at the same place in every hull. The hull ends with the window, and is
 * hatched between the line and that end. An agent without a known line has an empty one.
 */
export function Hull({ agent, small = false }: { agent: AgentView; small?: boolean }) {
  const words = levelText(agent);
  const hull = hullOf(agent);
  const end = hull?.end ?? 1;
  return (
    <div role="img" aria-label={words} title={words} className={cn("hull", small && "hull-small")}>
      <div className="hull-scale">
        {hull === null ? (
          <div className="hull-none" data-testid="hull-none" style={{ width: at(LINE_AT) }} />
        ) : (
          <>
            <div className="hull-track">
              <div
                className="hull-body"
                data-open={hull.end === null || undefined}
                style={{ width: at(end) }}
              />
              {end > LINE_AT && (
                <div className="hull-past" style={{ left: at(LINE_AT), width: at(end - LINE_AT) }} />
              )}
              <div
                className="hull-level"
                data-testid="hull-level"
                data-fill={levelState(agent)}
                data-at={hull.level.toFixed(4)}
                data-unconfirmed={agent.after_boundary !== null || undefined}
                // It does not move gradually: with many agents, the page would never come to rest.
                style={{ width: at(hull.level) }}
              />
            </div>
            <span className="hull-line" data-testid="hull-line" style={{ left: at(LINE_AT) }} />
            {/* The same line below the words of its row. */}
            {!small && (
              <span className="hull-through" data-testid="hull-through" style={{ left: at(LINE_AT) }} />
            )}
            {hull.marks.map((mark) => (
              <span
                key={mark.name}
                className="hull-mark"
                data-mark={mark.name}
                style={{ left: at(mark.at) }}
              />
            ))}
            {hull.peak !== null && (
              <span className="hull-peak" data-testid="hull-peak" style={{ left: at(hull.peak) }} />
            )}
            {hull.end !== null && agent.window_tokens !== null && (
              <span className="hull-end" data-testid="window-end" style={{ left: at(hull.end) }}>
                {!small && <span>{compact(agent.window_tokens)}</span>}
              </span>
            )}
          </>
        )}
      </div>
    </div>
  );
}

const TICKS = [
  { place: LINE_AT / 2, label: "50%" },
  { place: LINE_AT, label: "load line" },
  { place: placeOfLoad(2), label: "200%" },
];

/** The scale above hulls. */
export function HullScale() {
  return (
    <div aria-hidden className="hull-scale">
      {TICKS.map(({ place, label }) => (
        <span
          key={label}
          className="hull-tick"
          data-line={place === LINE_AT || undefined}
          style={{ left: at(place) }}
        >
          {label}
        </span>
      ))}
    </div>
  );
}
