/** @jsxImportSource #jsx */
"use client";

import { CircleUser, Keyboard, LogOut, TriangleAlert } from "lucide-react";
import Link from "next/link";
import { usePathname, useSearchParams } from "next/navigation";
import { useDesktopAlerts } from "../alerts/use-desktop-alerts.ts";
import { useAlertCounts, useFiringTitle } from "../alerts/use-firing.ts";
import { plural } from "../format.ts";
import { ProjectSwitcher } from "../projects/switcher.tsx";
import { useProjects } from "../projects/use-projects.ts";
import { cn } from "../ui/cn.ts";
import { lazyPart } from "../ui/lazy-part.tsx";
import { Logo } from "./logo.tsx";
import { PAGES, withSharedParams } from "./pages.ts";
import { useShellActions } from "./shell-actions.ts";
import { signOut } from "./sign-out.ts";
import { ThemeButton } from "./theme-button.tsx";

const DesktopAlerts = lazyPart(() =>
  import("../alerts/desktop-alerts.tsx").then(({ DesktopAlerts }) => DesktopAlerts),
);

function isCurrent(path: string, href: string): boolean {
  return href === "/" ? path === "/" : path === href || path.startsWith(`${href}/`);
}

export function Nav() {
  const path = usePathname();
  const params = useSearchParams();
  const { openHelp } = useShellActions();
  const { firing, failingEndpoints } = useAlertCounts();
  useFiringTitle(firing);
  const { state: desktop } = useDesktopAlerts();
  const { current } = useProjects();
  return (
    <header className="fixed inset-x-0 bottom-0 z-30 border-t border-rule bg-panel pb-[env(safe-area-inset-bottom)] md:sticky md:inset-x-auto md:top-0 md:flex md:h-dvh md:flex-col md:border-t-0 md:border-r md:bg-bg md:px-3 md:py-[18px]">
      {desktop === "on" && current !== undefined && <DesktopAlerts />}
      <div className="hidden flex-wrap items-center justify-between gap-y-3 pb-4 md:flex">
        <Link
          href={withSharedParams("/", params)}
          className="flex items-center gap-2.5 pl-2 text-[15px] font-semibold"
        >
          <Logo />
          Plimsoll
        </Link>
        <ProjectSwitcher wide />
      </div>
      <nav aria-label="Main" className="flex md:flex-col md:gap-0.5">
        {PAGES.map(({ href, label, icon: Icon }) => {
          const current = isCurrent(path, href);
          return (
            <Link
              key={href}
              href={withSharedParams(href, params)}
              aria-current={current ? "page" : undefined}
              className={cn(
                "flex flex-1 flex-col items-center gap-0.5 px-2.5 py-2 text-xs outline-offset-[-2px] md:flex-none md:flex-row md:gap-2.5 md:rounded-[7px] md:py-[7px] md:text-sm",
                current ? "font-medium text-ink md:bg-track" : "text-muted hover:text-ink",
              )}
            >
              <Icon aria-hidden className={cn("size-4", current ? "text-accent" : "text-faint")} />
              {label}
              {href === "/alerts" && failingEndpoints > 0 && <FailingEndpoints count={failingEndpoints} />}
              {href === "/alerts" && firing > 0 && (
                <span className="rounded-full bg-hard px-1.5 text-tiny font-medium text-bg max-md:absolute max-md:ml-8 md:ml-auto">
                  <span aria-hidden>{firing > 99 ? "99+" : firing}</span>
                  <span className="sr-only">, {plural(firing, "alert fires", "alerts fire")}</span>
                </span>
              )}
            </Link>
          );
        })}
      </nav>
      <div className="mt-auto hidden items-center gap-1 px-1 md:flex">
        <ThemeButton />
        <button
          type="button"
          onClick={openHelp}
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          className="inline-flex size-8 items-center justify-center rounded-[7px] text-muted hover:bg-track hover:text-ink"
        >
          <Keyboard aria-hidden className="size-4" />
        </button>
        <Link
          href={withSharedParams("/account", params)}
          aria-label="Your account"
          title="Your account"
          className="inline-flex size-8 items-center justify-center rounded-[7px] text-muted hover:bg-track hover:text-ink"
        >
          <CircleUser aria-hidden className="size-4" />
        </Link>
        <button
          type="button"
          onClick={() => void signOut()}
          aria-label="Sign out"
          title="Sign out of this browser"
          className="ml-auto inline-flex size-8 items-center justify-center rounded-[7px] text-muted hover:bg-track hover:text-ink"
        >
          <LogOut aria-hidden className="size-4" />
        </button>
      </div>
    </header>
  );
}

/** On every page: an endpoint that does not deliver cannot say so itself. */
function FailingEndpoints({ count }: { count: number }) {
  const text = `Alerts do not reach ${plural(count, "endpoint")}`;
  return (
    <span title={text} className="max-md:absolute max-md:mr-10">
      <TriangleAlert aria-hidden className="size-3.5 text-hard" />
      <span className="sr-only">, {text}</span>
    </span>
  );
}
