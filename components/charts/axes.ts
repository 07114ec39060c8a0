/** How far the plot of a chart is from its left and right edge, px. */
export interface Inset {
  left: number;
  right: number;
}

/** The top margin of a chart, with the marks of policies and alerts, px. */
export const LANE_PX = 22;
/** Height of the labels below a plot, px. */
export const AXIS_PX = 22;

/** Props of an axis of numbers that is drawn as labels only. */
export const BARE_AXIS = { type: "number", axisLine: false, tickLine: false } as const;
