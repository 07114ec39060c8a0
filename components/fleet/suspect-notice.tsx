/** @jsxImportSource #jsx */
"use client";

import type { FleetStatus, SuspectSession } from "@plimsoll/protocol/api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { compact, exact, percent, plural } from "../format.ts";
import { Link } from "../projects/link.tsx";
import { originText, useSetWindow } from "../setup/window-offers.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { sourceText } from "../words.ts";
import { suspectsAbout } from "./dismissals.ts";
import { Notice } from "./notice.tsx";
import { useSessionsHref } from "./use-sessions-href.ts";

const LINK = "text-accent underline underline-offset-2";

/** Names sessions whose window size must be wrong, and sets a better one. */
export function SuspectNotice({ suspects: { count, sessions } }: { suspects: FleetStatus["suspects"] }) {
  const hrefTo = useSessionsHref();
  const models = byModel(sessions);
  const first = models.find(isMendable);
  return (
    <Notice
      testid="suspects"
      label="Wrong window sizes"
      about={suspectsAbout(sessions)}
      summary={`${plural(count, "session")} above 100% of ${count === 1 ? "its" : "their"} window: ${models
        .map(({ model, window_tokens }) => `${model ?? "an unnamed model"} is not ${compact(window_tokens)}`)
        .join(", ")}`}
      action={first !== undefined && <Mend suspect={first} />}
    >
      <ul>
        {models.map((suspect) => (
          <li key={suspect.model} className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 wrap-anywhere">
            <Suspect suspect={suspect} />
            {suspect !== first && isMendable(suspect) && <Mend suspect={suspect} />}
          </li>
        ))}
      </ul>
      <p className="mt-1.5">
        The peak leaves {count === 1 ? "this session" : "these sessions"} out.{" "}
        <Link href={hrefTo({ sort: "peak_utilization" })} className={LINK}>
          View sessions
        </Link>
      </p>
    </Notice>
  );
}

type Mendable = SuspectSession & { model: string; offer: NonNullable<SuspectSession["offer"]> };

const isMendable = (suspect: SuspectSession): suspect is Mendable =>
  suspect.model !== null && suspect.offer !== null;

function Suspect({ suspect }: { suspect: SuspectSession }) {
  const { model, harness, peak_tokens: peak, window_tokens: window, window_source: source, offer } = suspect;
  return (
    <span>
      {model ?? "An unnamed model"}: {compact(peak)} of {compact(window)} ({percent(peak / window)}), size{" "}
      {sourceText(source)}. {offer !== null && `${compact(offer.tokens)}: ${originText(offer)}. `}
      {source === "reported" && `The size of ${harness} counts again once it reports another. `}
      {model !== null && (
        <Link href={`/setup?model=${encodeURIComponent(model)}#windows`} className={LINK}>
          Another size
        </Link>
      )}
    </span>
  );
}

/** Sets the offered size at one click, and takes it back at another. */
function Mend({
  suspect: { model, window_tokens: before, window_source: source, offer },
}: {
  suspect: Mendable;
}) {
  const client = useQueryClient();
  const trpc = useTRPC();
  const restore = useSetWindow();
  const remove = useMutation(
    trpc.windows.remove.mutationOptions({ onSuccess: () => client.invalidateQueries() }),
  );
  const set = useSetWindow(undefined, () =>
    source === "configured" ? restore.mutate({ model, tokens: before }) : remove.mutate({ model }),
  );
  return (
    <Button
      size="wrapped"
      disabled={set.isPending}
      title={`${exact(offer.tokens)} tokens: ${originText(offer)}`}
      onClick={() => set.mutate({ model, tokens: offer.tokens })}
    >
      Set {compact(before)} → {compact(offer.tokens)} for {model}
    </Button>
  );
}

/** The latest session of each model. */
function byModel(sessions: readonly SuspectSession[]): SuspectSession[] {
  const models = new Map<string | null, SuspectSession>();
  for (const session of sessions) if (!models.has(session.model)) models.set(session.model, session);
  return [...models.values()];
}
