/** @jsxImportSource #jsx */
"use client";

import { Moon, Sun, SunMoon } from "lucide-react";
import { useTheme } from "next-themes";
import { useMounted } from "../clock.tsx";

export const THEMES = ["system", "light", "dark"] as const;
const ICONS = { system: SunMoon, light: Sun, dark: Moon };

export function ThemeButton() {
  const { theme = "system", setTheme } = useTheme();
  // The server does not know the stored theme, so the first render shows the default.
  const shown = (useMounted() ? theme : "system") as (typeof THEMES)[number];
  const next = THEMES[(THEMES.indexOf(shown) + 1) % THEMES.length]!;
  const Icon = ICONS[shown] ?? SunMoon;
  return (
    <button
      type="button"
      onClick={() => setTheme(next)}
      aria-label={`Theme: ${shown}. Switch to ${next}`}
      title={`Theme: ${shown}`}
      className="inline-flex size-8 items-center justify-center rounded-[7px] text-muted hover:bg-track hover:text-ink"
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}
