/** @jsxImportSource #jsx */
import { fullTime } from "../format.ts";
import { cn } from "../ui/cn.ts";
import type { Inset } from "./axes.ts";
import { groupText, type MarkGroup } from "./marks.ts";

/** What a chart shows of policies, rollouts and alerts. */
export interface MarksShown {
  groups: readonly MarkGroup[];
  /** `at` of the group that was chosen. */
  chosen: string | null;
  onChoose: (at: string | null) => void;
}

/** A row of buttons in that margin, each where something began. */
export function MarksLane({
  marks: { groups, chosen, onChoose },
  inset,
}: {
  marks: MarksShown;
  inset: Inset;
}) {
  if (groups.length === 0) return null;
  return (
    <div
      className="pointer-events-none absolute inset-x-0 top-0 h-6"
      style={{ paddingLeft: inset.left, paddingRight: inset.right }}
    >
      <ul aria-label="Policies and alerts" className="relative h-full">
        {groups.map((group) => (
          <li key={group.at} className="absolute inset-y-0" style={{ left: `${group.place * 100}%` }}>
            <button
              type="button"
              data-testid="mark"
              aria-pressed={group.at === chosen}
              aria-label={`${groupText(group)}: before and after`}
              title={`${groupText(group)}, ${fullTime(Date.parse(group.at))}`}
              onClick={() => onChoose(group.at === chosen ? null : group.at)}
              className={cn(
                "pointer-events-auto flex h-6 min-w-6 items-center justify-center rounded px-1 text-[11px] font-medium whitespace-nowrap",
                isAlertOnly(group) ? "text-hard" : "text-accent",
                group.at === chosen ? "bg-track" : "hover:bg-track/60",
                // A mark of now has no room to its right.
                group.place > 0.94 ? "-translate-x-full" : "-translate-x-1/2",
              )}
            >
              {isAlertOnly(group) ? <AlertSign /> : shortText(group)}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

const isAlertOnly = ({ marks }: MarkGroup) => marks.every(({ kind }) => kind === "alert");

/** The last version, and `+2` for what else began there. */
function shortText({ marks }: MarkGroup): string {
  const steps = marks.filter(({ kind }) => kind !== "alert");
  const [name = ""] = steps.at(-1)?.label.split(" ") ?? [];
  const partly = steps.at(-1)?.kind === "rollout" ? "◐ " : "";
  return `${partly}${name}${marks.length > 1 ? ` +${marks.length - 1}` : ""}`;
}

function AlertSign() {
  return (
    <svg width="11" height="11" viewBox="0 0 11 11" aria-hidden="true">
      <path
        d="M5.5 1L10.3 9.6H.7Z"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinejoin="round"
      />
      <path d="M5.5 4.2V6.3M5.5 7.7V8.2" stroke="currentColor" strokeWidth="1.3" strokeLinecap="round" />
    </svg>
  );
}
