import { PROJECT_PARAMETER } from "@plimsoll/protocol/pure";
import { Bell, Lightbulb, ListTree, type LucideIcon, Ruler, SlidersHorizontal, Waves } from "lucide-react";

export interface NavPage {
  href: string;
  label: string;
  icon: LucideIcon;
  /** Shortcut key, pressed after `g`. */
  key: string;
}

/** The pages in the navigation, the command palette and the `g` shortcuts, in order. */
export const PAGES: readonly NavPage[] = [
  { href: "/", label: "Fleet", icon: Waves, key: "f" },
  { href: "/sessions", label: "Sessions", icon: ListTree, key: "s" },
  { href: "/insights", label: "Insights", icon: Lightbulb, key: "i" },
  { href: "/policies", label: "Policies", icon: Ruler, key: "p" },
  { href: "/alerts", label: "Alerts", icon: Bell, key: "a" },
  { href: "/setup", label: "Setup", icon: SlidersHorizontal, key: "u" },
];

/** Adds the current range, harness and project to a link. Filters of a single page are dropped. */
export function withSharedParams(href: string, params: URLSearchParams): string {
  const kept = new URLSearchParams();
  for (const name of ["range", "harness", PROJECT_PARAMETER]) {
    const value = params.get(name);
    if (value !== null) kept.set(name, value);
  }
  const text = kept.toString();
  return text === "" ? href : `${href}?${text}`;
}
