import type { AppliedThreshold } from "@plimsoll/protocol";
import { compact } from "../../format.ts";
import { boundaryLabel } from "../../words.ts";
import { textWidth } from "../visible-labels.ts";
import { type Box, placeLabels, type Wish } from "./place-labels.ts";
import type { OtherAgent, Point, Saw, SawMarker } from "./shape.ts";

/** Data to pixels, and where in the picture the data are drawn. */
export interface Scales {
  x: (value: number) => number;
  y: (value: number) => number;
  area: { x: number; y: number; width: number; height: number };
}

/** A label with its place; y is the baseline. */
export interface PlacedText extends Box {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
}

export interface SawLabels {
  thresholds: (PlacedText | undefined)[];
  markers: (PlacedText | undefined)[];
  agents: (PlacedText | undefined)[];
}

interface Drawn {
  saw: Saw;
  others: readonly OtherAgent[];
  /** Those within the view. */
  thresholds: readonly AppliedThreshold[];
  line: AppliedThreshold["name"] | undefined;
}

/** Half of a boundary's sign. */
const SIGN_PX = 7;
/** A sign hangs this far above the level it marks. */
const HANG_PX = 10;
/** A plot narrower than this has no room for the tokens beside a threshold's share. */
const ROOMY_PX = 420;
/** Longer names of agents are cut. */
const NAME_LENGTH = 22;

export const markerTop = ({ y, area }: Scales, { from, to }: SawMarker) =>
  Math.max(area.y + SIGN_PX + 1, y(from ?? to ?? 0) - HANG_PX);

export function thresholdWords({ name, label, tokens }: AppliedThreshold, { area }: Scales): string {
  const told = area.width < ROOMY_PX || /^-?\d+$/.test(label) ? "" : ` · ${compact(tokens)}`;
  return `${name} ${label}${told}`;
}

export const agentWords = ({ name }: OtherAgent) =>
  name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH - 1)}…` : name;

function text(words: string, x: number, y: number, anchor: PlacedText["anchor"]): PlacedText {
  const width = textWidth(words);
  const left = { start: x, middle: x - width / 2, end: x - width }[anchor];
  return { x, y, anchor, left: left - 2, right: left + width + 2, top: y - 12, bottom: y + 3 };
}

/** Where each label of the saw-tooth stands: thresholds choose first, then the deepest falls, then other agents. */
export function sawLabels(scales: Scales, { saw, others, thresholds, line }: Drawn): SawLabels {
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
  const signs = saw.markers.map((marker) => ({ x: x(marker.x), y: markerTop(scales, marker) }));
  const ends = others.map(({ points }) => points.at(-1)).map((end) => end && px(end));
  const last = saw.points.at(-1);

  const thresholdWishes = thresholds.map((threshold): Wish<PlacedText> => {
    const words = thresholdWords(threshold, scales);
    const level = y(threshold.tokens);
    const along = [0.25, 0.5, 0.75].map((share) => area.x + area.width * share);
    // The last height stands above a second line close by.
    const places = [level - 5, level + 13, level - 16].flatMap((at) => [
      text(words, area.x + 4, at, "start"),
      text(words, right - 4, at, "end"),
      ...along.map((middle) => text(words, middle, at, "middle")),
    ]);
    return { places, rank: threshold.name === line ? 1e12 : 1e11, insists: true };
  });
  const markerWishes = saw.markers.map(({ boundary }, index): Wish<PlacedText> => {
    const words = boundaryLabel(boundary);
    const { x: at, y: top } = signs[index]!;
    const half = textWidth(words) / 2 + 2;
    const centre = Math.min(Math.max(at, area.x + half), right - half);
    return {
      places: [
        text(words, centre, top - 9, "middle"),
        text(words, centre, top - 18, "middle"),
        text(words, at + SIGN_PX + 5, top + 4, "start"),
        text(words, at - SIGN_PX - 5, top + 4, "end"),
      ],
      rank: boundary.reclaimed_tokens ?? 0,
    };
  });
  const agentWishes = others.map((other, index): Wish<PlacedText> => {
    const end = ends[index];
    if (end === undefined) return { places: [], rank: -1 };
    const words = agentWords(other);
    return {
      places: [
        text(words, end.x + 6, end.y + 4, "start"),
        text(words, end.x + 3, end.y - 7, "end"),
        text(words, end.x + 3, end.y + 15, "end"),
        text(words, end.x, end.y - 7, "start"),
        text(words, end.x, end.y + 15, "start"),
      ],
      rank: -1,
    };
  });

  const placed = placeLabels([...thresholdWishes, ...markerWishes, ...agentWishes], {
    area: { left: area.x, right: right + 8, top: 0, bottom },
    taken: [
      ...signs.map((sign) => around(sign, SIGN_PX)),
      ...ends.flatMap((end) => (end === undefined ? [] : [around(end, 3)])),
      ...(last === undefined ? [] : [around(px(last), 5)]),
    ],
    lines: [
      saw.path.map(px),
      ...others.map(({ points }) => points.map(px)),
      ...signs.map((sign) => [sign, { x: sign.x, y: bottom }]),
      ...thresholds.map(({ tokens }) => [
        { x: area.x, y: y(tokens) },
        { x: right, y: y(tokens) },
      ]),
    ],
  });
  const from = thresholds.length + saw.markers.length;
  return {
    thresholds: placed.slice(0, thresholds.length),
    markers: placed.slice(thresholds.length, from),
    agents: placed.slice(from),
  };
}
