/** @jsxImportSource #jsx */
"use client";

import type { AlertMatcher } from "@plimsoll/protocol/alerts";
import type { AlertSilenceView } from "@plimsoll/protocol/api";
import { useMutation, useQuery } from "@tanstack/react-query";
import { BellOff } from "lucide-react";
import { useState } from "react";
import { useZone } from "../clock.tsx";
import { shortTime } from "../format.ts";
import { authorText } from "../setup/activity-text.ts";
import { Section } from "../setup/section.tsx";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { SilenceDialog } from "./silence-dialog.tsx";
import { useAlertAction } from "./use-alert-action.ts";

export function Silences() {
  const query = useQuery(useTRPC().alerts.silences.list.queryOptions());
  const [adding, setAdding] = useState(false);
  const open = query.data?.silences.filter(({ state }) => state !== "ended") ?? [];
  return (
    <Section
      id="silences"
      title="Silences"
      note="Alerts that match are shown, and nobody is notified."
      action={
        <Button onClick={() => setAdding(true)}>
          <BellOff aria-hidden /> Add silence
        </Button>
      }
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the silences" className="h-16" />
      ) : open.length === 0 ? (
        <p className="text-[13px] text-muted">Nothing is silenced.</p>
      ) : (
        <ul aria-label="Silences">
          {open.map((silence) => (
            <Row key={silence.id} silence={silence} />
          ))}
        </ul>
      )}
      {adding && <SilenceDialog onClose={() => setAdding(false)} />}
    </Section>
  );
}

const matcherText = ({ label, is, is_not }: AlertMatcher) =>
  is === undefined ? `${label} is not ${is_not}` : `${label} ${is}`;

function Row({ silence }: { silence: AlertSilenceView }) {
  const trpc = useTRPC();
  const zone = useZone();
  const { refresh, failed } = useAlertAction();
  const end = useMutation(
    trpc.alerts.silences.end.mutationOptions({ onSuccess: refresh, onError: failed("end the silence") }),
  );
  const { id, matchers, comment, ends_at } = silence;
  const what = matchers.map(matcherText).join(", ");
  return (
    <li className="flex items-start gap-4 border-t py-2 text-[13px] first:border-t-0">
      <div className="min-w-0 flex-1">
        <p className="font-medium wrap-anywhere">{what}</p>
        <p className="text-muted wrap-anywhere">{comment}</p>
        <p className="text-xs text-faint">
          until {shortTime(Date.parse(ends_at), zone)} · by {authorText(silence)}
        </p>
      </div>
      <Button
        size="small"
        disabled={end.isPending}
        onClick={() => end.mutate({ id })}
        aria-label={`End the silence of ${what}`}
      >
        End
      </Button>
    </li>
  );
}
