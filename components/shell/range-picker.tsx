/** @jsxImportSource #jsx */
"use client";

import { CalendarRange, ChevronDown } from "lucide-react";
import { type FormEvent, useState } from "react";
import { useMinute, useZone } from "../clock.tsx";
import { rangeText, zoneName } from "../format.ts";
import { DAY_RANGES, dayRange, QUICK_RANGES, quickLabel, type RangeChoice } from "../range.ts";
import { Button } from "../ui/button.tsx";
import { cn } from "../ui/cn.ts";
import { Popover } from "../ui/popover.tsx";
import { usePeriod, useRange } from "../url.ts";
import { toField } from "./time-jump.ts";

function useLabel(choice: RangeChoice): string {
  const zone = useZone();
  const now = useMinute();
  return "last" in choice ? quickLabel(choice.last) : rangeText(choice.from, choice.to, now, zone);
}

export function RangePicker() {
  const [choice, setChoice] = useRange();
  const label = useLabel(choice);
  return (
    <Popover
      trigger={
        <Button aria-label={`Time range: ${label}`} data-testid="range">
          <CalendarRange aria-hidden className="text-faint" />
          <span className="max-w-76 truncate">{label}</span>
          <ChevronDown aria-hidden className="text-faint" />
        </Button>
      }
      label="Time range"
      align="end"
      className="w-72 p-2"
    >
      {(close) => (
        <>
          <div className="grid grid-cols-4 gap-1">
            {QUICK_RANGES.map((last) => {
              const on = "last" in choice && choice.last === last;
              return (
                <button
                  key={last}
                  type="button"
                  aria-pressed={on}
                  aria-label={quickLabel(last)}
                  onClick={() => {
                    close();
                    void setChoice({ last });
                  }}
                  className={cn(
                    "rounded-md py-1.5 whitespace-nowrap",
                    last === "all" && "col-span-2",
                    on ? "bg-accent font-medium text-accent-ink" : "hover:bg-edge/35",
                  )}
                >
                  {last === "all" ? quickLabel(last) : last}
                </button>
              );
            })}
          </div>
          <div className="mt-1 grid grid-cols-3 gap-1">
            {DAY_RANGES.map((day) => (
              <button
                key={day}
                type="button"
                onClick={() => {
                  close();
                  void setChoice(dayRange(day, Date.now()));
                }}
                className="rounded-md py-1.5 whitespace-nowrap hover:bg-edge/35"
              >
                {day}
              </button>
            ))}
          </div>
          <Custom
            onPick={(next) => {
              close();
              void setChoice(next);
            }}
          />
        </>
      )}
    </Popover>
  );
}

function Custom({ onPick }: { onPick: (choice: RangeChoice) => void }) {
  const period = usePeriod();
  const [from, setFrom] = useState(() => toField(Date.parse(period.from)));
  const [to, setTo] = useState(() => toField(Date.parse(period.to)));
  const valid = Date.parse(from) < Date.parse(to);
  function submit(event: FormEvent) {
    event.preventDefault();
    if (valid) onPick({ from: Date.parse(from), to: Date.parse(to) });
  }
  return (
    <form onSubmit={submit} className="mt-2 space-y-2 border-t pt-2">
      <TimeField label="From" value={from} onChange={setFrom} />
      <TimeField label="To" value={to} onChange={setTo} />
      <div className="flex items-center justify-between gap-2">
        <span className="truncate text-xs text-faint">{valid ? zoneName() : "From must be before To"}</span>
        <Button type="submit" look="primary" disabled={!valid}>
          Apply
        </Button>
      </div>
    </form>
  );
}

interface TimeFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

function TimeField({ label, value, onChange }: TimeFieldProps) {
  return (
    <label className="block text-xs text-muted">
      {label}
      <input
        type="datetime-local"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="mt-1 w-full rounded-md border border-edge bg-bg px-2 py-1.5 text-[13px]"
        required
      />
    </label>
  );
}
