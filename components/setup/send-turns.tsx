/** @jsxImportSource #jsx */
"use client";

import dynamic from "next/dynamic";
import { Skeleton } from "../ui/states.tsx";
import { FirstEventStatus } from "./first-event-status.tsx";
import { Section } from "./section.tsx";
import { KEY_PLACEHOLDER } from "./snippets.ts";

/** The settings of every harness are larger than the rest of the section. */
const SendingTabs = dynamic(() => import("./sending-tabs.tsx").then((module) => module.SendingTabs), {
  ssr: false,
  loading: () => <Skeleton className="h-[32rem] sm:h-[28rem]" />,
});

/** Commands and settings for each harness, with the key created on this page inserted. */
export function SendTurns({ secret }: { secret: string | undefined }) {
  return (
    <Section
      id="send"
      title="Send turns"
      note={
        secret === undefined
          ? `Replace ${KEY_PLACEHOLDER} with your key.`
          : "The commands contain your new key."
      }
      action={<FirstEventStatus />}
    >
      <SendingTabs secret={secret} />
    </Section>
  );
}
