/** @jsxImportSource #jsx */
import { exact, fullTime } from "../../format.ts";
import { boundaryText } from "../../words.ts";
import { tooltipBox } from "../chart-frame.tsx";
import type { LineChange } from "./lines-over-time.ts";
import type { SawMarker } from "./shape.ts";

/** What changed of the thresholds. */
export function ChangeTooltip({ change, x, y }: { change: LineChange; x: number; y: number }) {
  return (
    <div
      className={`${tooltipBox} pointer-events-none absolute z-10 max-w-72`}
      style={{ left: `clamp(0px, ${x - 120}px, calc(100% - 288px))`, top: y + 14 }}
    >
      <div className="font-medium">Thresholds changed</div>
      {change.texts.map((text) => (
        <div key={text}>{text}</div>
      ))}
      <div className="text-faint">{fullTime(Date.parse(change.at))}</div>
    </div>
  );
}

/** The short form of a fall's card. */
export function MarkerTooltip({ marker: { boundary }, x, y }: { marker: SawMarker; x: number; y: number }) {
  return (
    <div
      className={`${tooltipBox} pointer-events-none absolute z-10 max-w-64`}
      style={{ left: `clamp(0px, ${x - 110}px, calc(100% - 256px))`, top: y + 14 }}
    >
      <div className="font-medium">{boundaryText(boundary)}</div>
      {boundary.reclaimed_tokens !== null && <div>reclaimed {exact(boundary.reclaimed_tokens)} tokens</div>}
      {boundary.inferred && <div>inferred from turns, not reported</div>}
      <div className="text-faint">{fullTime(Date.parse(boundary.at))}</div>
      <div className="text-faint">Click or press Enter for details</div>
    </div>
  );
}
