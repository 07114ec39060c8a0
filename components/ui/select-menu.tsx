/** @jsxImportSource #jsx */
"use client";

import { ChevronDown } from "lucide-react";
import { Button } from "./button.tsx";
import { Menu, MenuRadioGroup, MenuRadioItem } from "./menu.tsx";
import { Name } from "./name.tsx";

export interface Option<T extends string> {
  value: T;
  label: string;
  note?: string;
}

interface Props<T extends string> {
  /** Name of the setting, part of the accessible name of the button. */
  name: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
  className?: string;
}

/** A button that shows the current option and opens a menu of all options. */
export function SelectMenu<T extends string>({ name, value, options, onChange, className }: Props<T>) {
  const current = options.find((option) => option.value === value)?.label ?? value;
  return (
    <Menu
      trigger={
        <Button aria-label={`${name}: ${current}`} className={className}>
          <Name className="max-w-40 truncate">{current}</Name>
          <ChevronDown aria-hidden className="text-faint" />
        </Button>
      }
      align="end"
      className="max-h-80 min-w-44"
    >
      <MenuRadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
        {options.map((option) => (
          <MenuRadioItem key={option.value} value={option.value}>
            <Name className="min-w-0 wrap-anywhere">{option.label}</Name>
            {option.note !== undefined && <span className="ml-auto text-xs text-faint">{option.note}</span>}
          </MenuRadioItem>
        ))}
      </MenuRadioGroup>
    </Menu>
  );
}
