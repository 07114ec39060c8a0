import type { AppliedThreshold } from "@plimsoll/protocol/api";
import { compact, exact } from "../../format.ts";
import { boundaryLabel } from "../../words.ts";
import { textWidth } from "../text-width.ts";
import { thresholdLabel } from "../threshold-label.ts";
import type { StoodLines } from "./lines-over-time.ts";
import { type Box, placeLabels, type Wish } from "./place-labels.ts";
import type { Scales } from "./scales.ts";
import type { LinkedPoint, Point, Saw, SawMarker } from "./shape.ts";

/** A placed label; `y` is its baseline. */
export interface PlacedText extends Box {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

export interface SawLabels {
  thresholds: (PlacedText | undefined)[];
  markers: (PlacedText | undefined)[];
  windowEnd: PlacedText | undefined;
  linkedTurn: PlacedText | undefined;
}

interface Drawn {
  saw: Saw;
  /** Thresholds within the visible range. */
  thresholds: readonly AppliedThreshold[];
  stood: StoodLines;
  line: AppliedThreshold["name"] | undefined;
  /** Where the window ends, in tokens, if that is in view and no threshold. */
  windowEnd: number | undefined;
  linkedTurn: LinkedPoint | undefined;
}

/** Half the size of a boundary symbol. */
const SYMBOL_PX = 7;
/** Distance of a symbol above its level. */
const SYMBOL_OFFSET_PX = 10;

export const markerTop = ({ y, area }: Scales, { from, to }: SawMarker) =>
  Math.max(area.y + SYMBOL_PX + 1, y(from ?? to ?? 0) - SYMBOL_OFFSET_PX);

/** A turn beyond the axis, which has no token count, is marked at its end. */
export const linkedX = ({ x, area }: Scales, { x: at }: LinkedPoint) =>
  Math.min(area.x + area.width, Math.max(area.x, x(at)));

export const linkedText = ({ number }: LinkedPoint) => `turn ${exact(number)}`;

/** A threshold with its value, such as `ceiling 20% · 40k`. */
export function thresholdText(threshold: AppliedThreshold): string {
  const { name, tokens } = threshold;
  const [label, at] = [thresholdLabel(threshold), compact(tokens)];
  return label === at ? `${name} ${label}` : `${name} ${label} · ${at}`;
}

export const windowEndText = (tokens: number) => `window ends · ${compact(tokens)}`;

function text(words: string, x: number, y: number, anchor: PlacedText["anchor"]): PlacedText {
  const width = textWidth(words);
  const left = { start: x, middle: x - width / 2, end: x - width }[anchor];
  return { x, y, anchor, left: left - 2, right: left + width + 2, top: y - 12, bottom: y + 3 };
}

const finite = (value: number, edge: number, x: Scales["x"]) => (Number.isFinite(value) ? x(value) : edge);

/** Places every label: the linked turn and thresholds first, then unexplained falls, then boundaries by reclaimed tokens. */
export function sawLabels(
  scales: Scales,
  { saw, thresholds, stood, line, windowEnd, linkedTurn }: Drawn,
): SawLabels {
  const { x, y, area } = scales;
  const right = area.x + area.width;
  const bottom = area.y + area.height;
  const px = ({ x: at, y: level }: Point): Point => ({ x: x(at), y: y(level) });
  const around = ({ x: at, y: level }: Point, half: number): Box => ({
    left: at - half,
    right: at + half,
    top: level - half,
    bottom: level + half,
  });
  const symbols = saw.markers.map((marker) => ({ x: x(marker.x), y: markerTop(scales, marker) }));
  const last = saw.points.at(-1);

  const thresholdWishes = thresholds.map((threshold): Wish<PlacedText> => {
    const words = threshold.name;
    const level = y(threshold.tokens);
    // On the piece that stands now: its level means nothing where the threshold stood elsewhere.
    const from = stood.lines.find(({ name }) => name === threshold.name)?.pieces.at(-1)?.from ?? area.x;
    const left = Math.min(Math.max(area.x, finite(from, area.x, x)), right);
    const along = [0.25, 0.5, 0.75].map((share) => left + (right - left) * share);
    // The last height clears a second threshold close above.
    const places = [level - 5, level + 13, level - 16].flatMap((at) => [
      ...(right - left > textWidth(words) + 8 ? [text(words, left + 4, at, "start")] : []),
      text(words, right - 4, at, "end"),
      ...along.map((middle) => text(words, middle, at, "middle")),
    ]);
    return { places, rank: threshold.name === line ? 1e12 : 1e11 };
  });
  const markerWishes = saw.markers.map(({ boundary }, index): Wish<PlacedText> => {
    const words = boundaryLabel(boundary);
    const { x: at, y: top } = symbols[index]!;
    const half = textWidth(words) / 2 + 2;
    const centre = Math.min(Math.max(at, area.x + half), right - half);
    return {
      places: [
        text(words, centre, top - 9, "middle"),
        text(words, centre, top - 18, "middle"),
        text(words, at + SYMBOL_PX + 5, top + 4, "start"),
        text(words, at - SYMBOL_PX - 5, top + 4, "end"),
      ],
      rank: (boundary.type === "unexplained" ? 1e10 : 0) + (boundary.reclaimed_tokens ?? 0),
    };
  });
  const endWishes: Wish<PlacedText>[] =
    windowEnd === undefined
      ? []
      : [
          {
            places: [y(windowEnd) + 13, y(windowEnd) - 5].flatMap((at) => [
              text(windowEndText(windowEnd), right - 4, at, "end"),
              text(windowEndText(windowEnd), area.x + 4, at, "start"),
            ]),
            rank: 1e11,
          },
        ];

  const linked = linkedTurn && { x: linkedX(scales, linkedTurn), words: linkedText(linkedTurn) };
  const linkedWishes: Wish<PlacedText>[] = linked
    ? [
        {
          places: [area.y + 11, area.y + 26, bottom - 8].flatMap((at) => [
            text(linked.words, linked.x + 5, at, "start"),
            text(linked.words, linked.x - 5, at, "end"),
          ]),
          rank: 1e13,
          required: true,
        },
      ]
    : [];

  const placed = placeLabels([...thresholdWishes, ...markerWishes, ...endWishes, ...linkedWishes], {
    area: { left: area.x, right: right + 8, top: 0, bottom },
    taken: [
      ...symbols.map((symbol) => around(symbol, SYMBOL_PX)),
      ...stood.changes.map((change) => around({ x: x(change.x), y: y(change.tokens) }, SYMBOL_PX)),
      ...(last === undefined ? [] : [around(px(last), 5)]),
    ],
    lines: [
      saw.path.map(px),
      ...(windowEnd === undefined ? [] : [[area.x, right].map((at) => ({ x: at, y: y(windowEnd) }))]),
      ...symbols.map((symbol) => [symbol, { x: symbol.x, y: bottom }]),
      ...(linked ? [[area.y, bottom].map((y) => ({ x: linked.x, y }))] : []),
      ...stood.lines.flatMap(({ pieces }) =>
        pieces.map(({ from, to, tokens }) => [
          { x: Math.max(area.x, finite(from, area.x, x)), y: y(tokens) },
          { x: Math.min(right, finite(to, right, x)), y: y(tokens) },
        ]),
      ),
    ],
  });
  const marked = thresholds.length + saw.markers.length;
  return {
    thresholds: placed.slice(0, thresholds.length),
    markers: placed.slice(thresholds.length, marked),
    windowEnd: endWishes.length === 0 ? undefined : placed[marked],
    linkedTurn: placed[marked + endWishes.length],
  };
}
