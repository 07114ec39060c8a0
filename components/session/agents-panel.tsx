/** @jsxImportSource #jsx */
"use client";

import type { AgentView } from "@plimsoll/protocol/api";
import { Hull } from "../charts/hull.tsx";
import { isPastLine, levelState } from "../charts/level.ts";
import { compact, exact, loadPercent, plural } from "../format.ts";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { forecastReason } from "../words.ts";
import { agentTree } from "./agent-tree.ts";

interface Props {
  agents: AgentView[];
  /** Agents of the session that are not listed. */
  more: number;
  /** True if the session has ended, so that no forecast is shown. */
  ended: boolean;
  chosen: string;
  onChoose: (id: string) => void;
}

/** The tree of agents, each with its own level. Selecting one shows its chart and turns. */
export function AgentsPanel({ agents, more, ended, chosen, onChoose }: Props) {
  return (
    <section aria-label="Agents" className="panel px-4 py-3.5">
      <h2 className="mb-1.5 text-[13px] font-semibold">
        Agents{" "}
        {agents.length > 1 && <span className="font-normal text-faint">{exact(agents.length + more)}</span>}
      </h2>
      <ul className="max-h-80 overflow-y-auto">
        {agentTree(agents).map(({ agent, depth }) => (
          <li key={agent.id}>
            <button
              type="button"
              aria-pressed={agent.id === chosen}
              data-testid="agent"
              data-agent={agent.id}
              onClick={() => onChoose(agent.id)}
              title={`${agent.name}: ${plural(agent.turns, "turn")}.${ended ? "" : ` ${forecastReason(agent.forecast)}`}`}
              className={cn(
                "grid w-full grid-cols-[minmax(0,1fr)_minmax(70px,110px)_46px_40px] max-sm:grid-cols-[minmax(0,1fr)_80px_46px_36px] items-center gap-2.5 rounded-md px-2 py-1 text-left text-[13px] -outline-offset-2 hover:bg-track/60",
                agent.id === chosen && "bg-track font-medium",
              )}
            >
              <span className="flex" style={{ paddingLeft: depth * 14 }}>
                <Name className="truncate">{agent.name}</Name>
              </span>
              <Hull agent={agent} small />
              <span
                className="text-right"
                title={
                  agent.context_tokens === null ? "not counted" : `${exact(agent.context_tokens)} tokens`
                }
              >
                {agent.context_tokens === null ? "—" : compact(agent.context_tokens)}
              </span>
              <span
                className={cn(
                  "text-right text-xs",
                  isPastLine(levelState(agent)) ? "text-hard" : "text-faint",
                )}
              >
                {agent.load === null ? "—" : loadPercent(agent.load)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p className="mt-1.5 text-xs text-faint">
          {plural(more, "agent")} with fewer turns {more === 1 ? "is" : "are"} not listed.
        </p>
      )}
    </section>
  );
}
