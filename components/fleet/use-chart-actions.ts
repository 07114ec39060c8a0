import { useRouter } from "next/navigation";
import { useMemo, useState } from "react";
import type { ChartActions } from "../charts/chart-actions.ts";
import { withProject } from "../projects/address.ts";
import { useProject } from "../projects/current.tsx";
import { useRange } from "../url.ts";
import type { useSessionsHref } from "./use-sessions-href.ts";

/** The charts share a crosshair. A click opens the sessions behind a bucket, and dragging sets the range of the page. */
export function useChartActions(
  hrefTo: ReturnType<typeof useSessionsHref>,
): Record<"utilization" | "boundaries", ChartActions> {
  const router = useRouter();
  const project = useProject();
  const [, setRange] = useRange();
  const [hovered, setHovered] = useState<{ chart: string; at: number } | null>(null);
  const shared = useMemo(() => {
    const actionsOf = (chart: string): Omit<ChartActions, "crosshair"> => ({
      onHover: (at) => setHovered((last) => (last?.at === at ? last : at === null ? null : { chart, at })),
      onBrush({ intent, from, to }, reason) {
        if (intent === "zoom") void setRange({ from, to });
        else router.push(withProject(hrefTo(reason === undefined ? {} : { reason }, { from, to }), project));
      },
      hrefOf: (bucket) => hrefTo({}, bucket),
    });
    return { utilization: actionsOf("utilization"), boundaries: actionsOf("boundaries") };
  }, [router, project, setRange, hrefTo]);
  const crosshairOf = (chart: string) => (hovered === null || hovered.chart === chart ? null : hovered.at);
  return {
    utilization: { ...shared.utilization, crosshair: crosshairOf("utilization") },
    boundaries: { ...shared.boundaries, crosshair: crosshairOf("boundaries") },
  };
}
