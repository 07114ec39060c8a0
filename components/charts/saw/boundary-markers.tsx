"use client";

import { boundaryLabel, boundaryText } from "../../words.ts";
import { BoundaryGlyphPath } from "../boundary-glyph.tsx";
import { boundaryLook } from "../boundary-looks.ts";
import { ChartText } from "./chart-text.tsx";
import { markerTop, type PlacedText, type Scales } from "./labels.ts";
import { useRovingFocus } from "./roving-focus.ts";
import type { SawMarker } from "./shape.ts";

/** A symbol at every boundary. The group is one tab stop; arrow keys move between symbols. */
export function Markers({
  scales,
  markers,
  labels,
  onShow,
}: {
  scales: Scales;
  markers: readonly SawMarker[];
  labels: readonly (PlacedText | undefined)[];
  onShow: (shown: { marker: SawMarker; x: number; y: number } | null) => void;
}) {
  const { onKeyDown, setActive, tabIndexOf } = useRovingFocus(markers.length, "[data-marker]");
  const { x, area } = scales;
  const bottom = area.y + area.height;

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the group only moves focus between its markers
    <g onKeyDown={onKeyDown} data-testid="saw-markers">
      {markers.map((marker, index) => {
        const { boundary } = marker;
        const { colour } = boundaryLook(boundary.type);
        const px = x(marker.x);
        const py = markerTop(scales, marker);
        const place = labels[index];
        const show = () => onShow({ marker, x: px, y: py });
        return (
          <g key={boundary.id}>
            <line
              x1={px}
              x2={px}
              y1={py + 5}
              y2={bottom}
              stroke={colour}
              strokeWidth={1.3}
              strokeDasharray={boundary.type === "subtick" ? undefined : "3 3"}
              opacity={0.85}
            />
            {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a labeled image; focus only shows its tooltip */}
            <g
              role="img"
              aria-label={boundaryText(boundary)}
              data-marker={boundary.type}
              tabIndex={tabIndexOf(index)}
              transform={`translate(${px.toFixed(1)} ${py.toFixed(1)})`}
              onFocus={() => {
                setActive(index);
                show();
              }}
              onBlur={() => onShow(null)}
              onMouseEnter={show}
              onMouseLeave={() => onShow(null)}
            >
              <rect x={-10} y={-10} width={20} height={20} fill="transparent" />
              <BoundaryGlyphPath type={boundary.type} />
            </g>
            {place !== undefined && (
              <ChartText place={place} colour="var(--muted)">
                {boundaryLabel(boundary)}
              </ChartText>
            )}
          </g>
        );
      })}
    </g>
  );
}
