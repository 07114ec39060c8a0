import { PROJECT_PARAMETER } from "@plimsoll/protocol";
import { ListTree, type LucideIcon, SlidersHorizontal, Waves } from "lucide-react";

export interface Page {
  href: string;
  label: string;
  icon: LucideIcon;
  /** Pressed after `g`. */
  key: string;
}

/** What the navigation, the palette and the `g` shortcuts offer, in this order. */
export const PAGES: readonly Page[] = [
  { href: "/", label: "Fleet", icon: Waves, key: "f" },
  { href: "/sessions", label: "Sessions", icon: ListTree, key: "s" },
  { href: "/setup", label: "Setup", icon: SlidersHorizontal, key: "u" },
];

/** The range, the harness and the project are kept from page to page; the filters of one page are not. */
export function carry(href: string, params: URLSearchParams): string {
  const kept = new URLSearchParams();
  for (const name of ["range", "harness", PROJECT_PARAMETER]) {
    const value = params.get(name);
    if (value !== null) kept.set(name, value);
  }
  const text = kept.toString();
  return text === "" ? href : `${href}?${text}`;
}
