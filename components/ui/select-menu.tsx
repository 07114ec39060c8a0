"use client";

import { Check, ChevronDown } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { Button } from "./button.tsx";
import { CHECKED_ITEM, MenuContent } from "./menu.tsx";

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
    // Not modal: a modal menu hides the page from assistive technology while its controls stay focusable.
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>
        <Button aria-label={`${name}: ${current}`} className={className}>
          <span className="max-w-40 truncate">{current}</span>
          <ChevronDown aria-hidden className="text-faint" />
        </Button>
      </DropdownMenu.Trigger>
      <MenuContent align="end" className="max-h-80 min-w-44">
        <DropdownMenu.RadioGroup value={value} onValueChange={(next) => onChange(next as T)}>
          {options.map((option) => (
            <DropdownMenu.RadioItem key={option.value} value={option.value} className={CHECKED_ITEM}>
              <DropdownMenu.ItemIndicator className="absolute left-2">
                <Check aria-hidden className="size-3.5 text-accent" />
              </DropdownMenu.ItemIndicator>
              <span className="min-w-0 wrap-anywhere">{option.label}</span>
              {option.note !== undefined && <span className="ml-auto text-xs text-faint">{option.note}</span>}
            </DropdownMenu.RadioItem>
          ))}
        </DropdownMenu.RadioGroup>
      </MenuContent>
    </DropdownMenu.Root>
  );
}
