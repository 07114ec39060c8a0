/** A rectangle in px: the part of a drawing between its axes. */
export interface PlotArea {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Converts data to pixels. */
export interface Scales {
  x: (value: number) => number;
  y: (value: number) => number;
  area: PlotArea;
}

/** Both ends of the horizontal axis: turn numbers or epoch ms. */
export type Domain = readonly [from: number, to: number];

/** Linear scales: the domain over the width of the area, and 0 to `top` tokens over its height. */
export function linearScales(area: PlotArea, [from, to]: Domain, top: number): Scales {
  const perUnit = area.width / (to - from || 1);
  const perToken = area.height / (top || 1);
  return {
    x: (value) => area.x + (value - from) * perUnit,
    y: (value) => area.y + area.height - value * perToken,
    area,
  };
}

/** What a pixel stands for on the horizontal axis. Within the domain. */
export function valueAt(area: PlotArea, [from, to]: Domain, px: number): number {
  const share = area.width <= 0 ? 0 : (px - area.x) / area.width;
  return from + Math.min(1, Math.max(0, share)) * (to - from);
}
