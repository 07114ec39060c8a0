/** @jsxImportSource #jsx */
"use client";

import { useId } from "react";

interface Props<T extends string> {
  legend: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}

/** A choice of few options that are all in view. */
export function Radios<T extends string>({ legend, value, options, onChange }: Props<T>) {
  const name = useId();
  return (
    <fieldset className="mt-4">
      <legend className="text-[13px] text-muted">{legend}</legend>
      <div className="mt-1.5 flex flex-wrap gap-x-4 gap-y-1.5">
        {options.map((option) => (
          <label
            key={option.value}
            className="flex items-center gap-2 text-[13px] pointer-coarse:min-h-9 pointer-coarse:py-1.5"
          >
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
              className="size-4 accent-accent"
            />
            {option.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
