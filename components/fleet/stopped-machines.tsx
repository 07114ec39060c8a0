/** @jsxImportSource #jsx */
"use client";

import type { MachineView } from "@plimsoll/protocol/api";
import { Ago } from "../clock.tsx";
import { exact, plural } from "../format.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Name } from "../ui/name.tsx";
import { stoppedAbout } from "./dismissals.ts";
import { Notice } from "./notice.tsx";

/** Machines that the notice names. */
const MOST_NAMED = 5;
/** Says what a machine's harnesses last reported, and what is missing. */
const COMMAND = "npx plimsoll connections";

/** Names machines that stopped reporting while sessions on them were at work, and what to run there. */
export function StoppedMachinesNotice({ stopped }: { stopped: readonly MachineView[] }) {
  const named = stopped.slice(0, MOST_NAMED);
  const more = stopped.length - named.length;
  const [first] = named;
  return (
    <Notice
      testid="stopped-machines"
      label="Machines that stopped reporting"
      about={stoppedAbout(stopped)}
      summary={
        stopped.length === 1 && first !== undefined ? (
          <>
            <Name>{first.name}</Name> stopped reporting <Ago at={first.last_at} />
          </>
        ) : (
          `${exact(stopped.length)} machines stopped reporting`
        )
      }
    >
      <ul>
        {named.map(({ name, last_at, stopped: work }) => (
          <li key={name} className="mt-1 wrap-anywhere">
            <Name>{name}</Name>: last event <Ago at={last_at} />, with{" "}
            {plural(work?.sessions ?? 0, "session")} at work.
          </li>
        ))}
      </ul>
      {more > 0 && <p className="mt-1">{exact(more)} more.</p>}
      <p className="mt-1.5 flex flex-wrap items-center gap-x-2 gap-y-1">
        To see what is missing, run there:{" "}
        <code className="rounded bg-track px-1 py-0.5 font-mono text-xs text-ink">{COMMAND}</code>
        <CopyButton text={COMMAND} />
      </p>
      <p className="mt-1.5">
        The notice goes when the machine reports again, or after a day. A machine that sleeps reports again
        once it wakes.
      </p>
    </Notice>
  );
}
