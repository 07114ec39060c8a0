/** @jsxImportSource #jsx */
"use client";

import { boundaryLabel, boundaryText } from "../../words.ts";
import { BoundaryGlyphPath } from "../boundary-glyph.tsx";
import { boundaryLook } from "../boundary-looks.ts";
import { ChartText } from "./chart-text.tsx";
import { markerTop, type PlacedText } from "./labels.ts";
import { markerSizes } from "./marker-sizes.ts";
import { useRovingFocus } from "./roving-focus.ts";
import type { Scales } from "./scales.ts";
import type { SawMarker } from "./shape.ts";

interface Props {
  scales: Scales;
  markers: readonly SawMarker[];
  labels: readonly (PlacedText | undefined)[];
  /** Id of the boundary whose card is open. */
  opened: string | null;
  onShow: (shown: { marker: SawMarker; x: number; y: number } | null) => void;
  onOpen: (id: string) => void;
}

const isUrgent = ({ boundary }: SawMarker) => boundary.type === "unexplained";

/** A symbol at every boundary. The group is one tab stop; arrow keys move between symbols, Enter opens a card. */
export function Markers({ scales, markers, labels, opened, onShow, onOpen }: Props) {
  const { onKeyDown, setActive, tabIndexOf } = useRovingFocus(markers.length, "[data-marker]");
  const { x, area } = scales;
  const bottom = area.y + area.height;
  const sizes = markerSizes(markers.map((marker) => ({ px: x(marker.x), isUrgent: isUrgent(marker) })));
  return (
    <>
      <g pointerEvents="none" aria-hidden>
        {markers.map((marker, index) => {
          const { boundary } = marker;
          if (!sizes[index]!.hasStem) return null;
          const urgent = isUrgent(marker);
          const px = x(marker.x);
          return (
            <line
              key={boundary.id}
              x1={px}
              x2={px}
              y1={markerTop(scales, marker) + 5}
              y2={bottom}
              stroke={boundaryLook(boundary.type).colour}
              strokeWidth={urgent ? 2 : 1.3}
              strokeDasharray={urgent || boundary.type === "subtick" ? undefined : "3 3"}
              opacity={urgent ? 1 : 0.7}
            />
          );
        })}
      </g>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the group only moves focus between its markers */}
      <g onKeyDown={onKeyDown} data-testid="saw-markers">
        {markers.map((marker, index) => {
          const { boundary } = marker;
          const px = x(marker.x);
          const py = markerTop(scales, marker);
          const show = () => onShow({ marker, x: px, y: py });
          const { scale } = sizes[index]!;
          const target = Math.max(8, 20 * Math.min(1, scale));
          return (
            // biome-ignore lint/a11y/useSemanticElements: an element of HTML cannot be in a drawing
            <g
              key={boundary.id}
              role="button"
              aria-label={boundaryText(boundary)}
              aria-haspopup="dialog"
              aria-expanded={boundary.id === opened}
              data-marker={boundary.type}
              data-boundary={boundary.id}
              data-before={boundary.tokens_before ?? undefined}
              data-after={boundary.tokens_after ?? undefined}
              tabIndex={tabIndexOf(index)}
              transform={`translate(${px.toFixed(1)} ${py.toFixed(1)})`}
              onFocus={() => {
                setActive(index);
                show();
              }}
              onBlur={() => onShow(null)}
              onMouseEnter={show}
              onMouseLeave={() => onShow(null)}
              onClick={() => onOpen(boundary.id)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                onOpen(boundary.id);
              }}
            >
              <rect x={-target / 2} y={-10} width={target} height={20} fill="transparent" />
              <g transform={scale === 1 ? undefined : `scale(${scale.toFixed(2)})`}>
                <BoundaryGlyphPath type={boundary.type} />
              </g>
              {boundary.id === opened && (
                <circle r={12} fill="none" stroke="var(--ink)" strokeWidth={1.6} pointerEvents="none" />
              )}
            </g>
          );
        })}
      </g>
      {markers.map((marker, index) => {
        const place = labels[index];
        return (
          place !== undefined && (
            <ChartText
              key={marker.boundary.id}
              place={place}
              colour={isUrgent(marker) ? "var(--hard)" : "var(--muted)"}
              isStrong={isUrgent(marker)}
            >
              {boundaryLabel(marker.boundary)}
            </ChartText>
          )
        );
      })}
    </>
  );
}
