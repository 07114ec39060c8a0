/** @jsxImportSource #jsx */
"use client";

import { fallCauses } from "@plimsoll/harnesses/lines";
import type { BoundaryView } from "@plimsoll/protocol/api";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { LocalTime } from "../../clock.tsx";
import { exact, fullTime, percent, signed } from "../../format.ts";
import { boundaryWord } from "../../glossary.ts";
import { Button } from "../../ui/button.tsx";
import { Term } from "../../ui/term.tsx";
import { boundaryName, boundaryText } from "../../words.ts";
import { BoundaryGlyph } from "../boundary-glyph.tsx";
import { tooltipBox } from "../chart-frame.tsx";
import { keptText, sourceOfFall } from "./fall-text.ts";
import type { SawMarker } from "./shape.ts";

interface Props {
  marker: SawMarker;
  harness: string;
  model: string | null;
  /** Where the symbol is, in px. */
  place: { x: number; y: number };
  onTurn: (key: string) => void;
  onClose: () => void;
}

/** What is known of one fall: what happened, who says so, both levels, what was kept, and the turns around it. */
export function FallCard({ marker, harness, model, place, onTurn, onClose }: Props) {
  const { boundary, before, after } = marker;
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.focus({ preventScroll: true });
  }, []);
  const causes =
    boundary.type === "unexplained" || boundary.hint !== null
      ? fallCauses({ harness, model, hint: boundary.hint })
      : [];
  return (
    <div
      ref={box}
      role="dialog"
      aria-label={boundaryText(boundary)}
      tabIndex={-1}
      data-testid="fall-card"
      className={`${tooltipBox} absolute z-20 grid w-80 max-w-full gap-2 outline-none`}
      style={{ left: `clamp(0px, ${place.x - 160}px, calc(100% - 320px))`, top: place.y + 14 }}
      onKeyDown={(event) => {
        // The first Escape closes a tooltip of the card, and prevents the default.
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.stopPropagation();
        onClose();
      }}
    >
      <div className="flex items-center gap-2">
        <BoundaryGlyph type={boundary.type} className="size-4 shrink-0" />
        <h3 className="min-w-0 flex-1 text-[13px] font-semibold">
          <Term word={boundaryWord(boundary.type)}>
            {boundary.type === "unexplained" ? "Unexplained fall" : capitalized(boundaryName(boundary.type))}
          </Term>
        </h3>
        <Button look="ghost" size="icon" aria-label="Close" className="-my-1.5 -mr-2" onClick={onClose}>
          <X aria-hidden />
        </Button>
      </div>
      <p className="wrap-anywhere">{boundaryText(boundary)}</p>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1">
        <Fact name="Level">
          <Levels boundary={boundary} windowTokens={(before ?? after)?.point.window_tokens ?? null} />
        </Fact>
        <Fact name="When">
          <LocalTime at={boundary.at} format={fullTime} />
        </Fact>
        <Fact name="Says who">{sourceOfFall(boundary, harness)}</Fact>
        <Fact name={<Term word="carryover">Kept</Term>}>{keptText(boundary)}</Fact>
      </dl>
      {causes.length > 0 && (
        <div>
          <h4 className="font-medium">Usual causes</h4>
          <ul className="ml-4 list-disc">
            {causes.map((cause) => (
              <li key={cause}>{cause}</li>
            ))}
          </ul>
        </div>
      )}
      <div className="flex flex-wrap gap-x-3 border-t pt-1.5">
        {[before, after].map(
          (one) =>
            one !== undefined && (
              <Button
                key={one.point.key}
                size="small"
                look="ghost"
                className="-ml-2"
                onClick={() => onTurn(one.point.key)}
              >
                {one === before ? "Before:" : "After:"} turn {exact(one.point.number)}
              </Button>
            ),
        )}
      </div>
    </div>
  );
}

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

function Fact({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <>
      <dt className="text-faint">{name}</dt>
      <dd className="min-w-0 wrap-anywhere">{children}</dd>
    </>
  );
}

function Levels({ boundary, windowTokens }: { boundary: BoundaryView; windowTokens: number | null }) {
  const { tokens_before: before, tokens_after: after, reclaimed_tokens: reclaimed } = boundary;
  const level = (tokens: number | null) =>
    tokens === null
      ? "unknown"
      : `${exact(tokens)}${windowTokens === null ? "" : ` (${percent(tokens / windowTokens)})`}`;
  return (
    <>
      {level(before)} to {level(after)}
      {reclaimed !== null && <span className="font-medium">, {signed(-reclaimed)} tokens</span>}
    </>
  );
}
