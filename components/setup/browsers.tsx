/** @jsxImportSource #jsx */
"use client";

import type { BrowserView } from "@plimsoll/protocol/api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import { useState } from "react";
import { Ago, useMinute } from "../clock.tsx";
import { plural } from "../format.ts";
import { signOut } from "../shell/sign-out.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { toast } from "../ui/toast.ts";
import { Section } from "./section.tsx";

const HOUR = 3_600_000;

function useRefresh() {
  const trpc = useTRPC();
  const client = useQueryClient();
  return () => client.invalidateQueries(trpc.browsers.list.queryFilter());
}

/**
 * The browsers that are signed in. There is no empty state: this one is.
 * @param own those of the person who looks, alone
 */
export function Browsers({ own = false }: { own?: boolean }) {
  const trpc = useTRPC();
  const query = useQuery(trpc.browsers.list.queryOptions());
  const [asking, setAsking] = useState(false);
  const browsers = query.data?.browsers.filter((browser) => !own || browser.own || browser.current);
  const others = browsers?.filter(({ current }) => !current).length ?? 0;
  return (
    <Section
      id="browsers"
      title={own ? "Your browsers" : "Signed-in browsers"}
      note={`A browser stays signed in for 30 days after its last visit.${own ? "" : " Without a person’s name, it may do everything."}`}
      action={
        <Button onClick={() => setAsking(true)} disabled={others === 0}>
          <LogOut aria-hidden /> Sign out everywhere else
        </Button>
      }
    >
      {browsers === undefined ? (
        <NotLoaded query={query} what="the browsers" className="h-10" />
      ) : (
        <ul data-testid="browsers">
          {browsers.map((view) => (
            <Row key={view.id} view={view} own={own} />
          ))}
        </ul>
      )}
      {asking && <SignOutOthers count={others} own={own} onClose={() => setAsking(false)} />}
    </Section>
  );
}

function Row({ view, own }: { view: BrowserView; own: boolean }) {
  const refresh = useRefresh();
  const name = view.browser ?? "Unknown browser";
  const end = useMutation(
    useTRPC().browsers.signOut.mutationOptions({
      onSuccess: () => {
        toast.success(`${name} is signed out.`);
        return refresh();
      },
      onError: (error) => {
        toast.error(`${name} was not signed out: ${error.message}`);
        return refresh();
      },
    }),
  );
  return (
    <li className="flex items-center gap-x-3 border-t py-2 text-[13px] first:border-t-0">
      <span className="min-w-0 flex-1">
        <span className="flex min-w-0 items-center gap-2">
          <Name className="truncate font-medium" title={name}>
            {name}
          </Name>
          {view.current && (
            <span className="shrink-0 rounded-full border border-rule px-1.5 text-xs leading-4.5 text-muted">
              this browser
            </span>
          )}
        </span>
        <span className="block text-xs text-muted wrap-anywhere">
          {view.person !== null && !own && (
            <>
              <Name>{view.person}</Name>
              {" · "}
            </>
          )}
          {view.address !== null && `${view.address} · `}
          signed in <Ago at={view.created_at} />
          {!view.current && (
            <>
              {" · "}
              <LastSeen at={view.last_seen_at} />
            </>
          )}
        </span>
      </span>
      <Button
        size="small"
        disabled={end.isPending}
        onClick={() => (view.current ? void signOut() : end.mutate({ id: view.id }))}
        aria-label={`Sign out ${view.current ? "this browser" : name}`}
      >
        Sign out
      </Button>
    </li>
  );
}

/** The server writes the time once an hour. */
function LastSeen({ at }: { at: string }) {
  const recent = useMinute() - Date.parse(at) < HOUR;
  return recent ? (
    "seen in the last hour"
  ) : (
    <>
      seen <Ago at={at} />
    </>
  );
}

function SignOutOthers({ count, own, onClose }: { count: number; own: boolean; onClose: () => void }) {
  const refresh = useRefresh();
  const end = useMutation(
    useTRPC().browsers.signOutOthers.mutationOptions({
      onSuccess: ({ signed_out }) => {
        toast.success(`${plural(signed_out, "browser")} signed out.`);
        onClose();
        return refresh();
      },
    }),
  );
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Sign out ${plural(count, "other browser")}?`}
      description="They have to sign in again. This browser stays signed in."
    >
      {end.isError && <FormError>Failed to sign out: {end.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={end.isPending} onClick={() => end.mutate({ own })}>
          Sign out
        </Button>
      </div>
    </Modal>
  );
}
