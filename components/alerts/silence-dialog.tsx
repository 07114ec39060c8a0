/** @jsxImportSource #jsx */
"use client";

import type { AlertView } from "@plimsoll/protocol/api";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { Radios } from "../ui/radios.tsx";
import { toast } from "../ui/toast.ts";
import { MatchersField, readMatcherLines } from "./matchers-field.tsx";
import { useAlertAction } from "./use-alert-action.ts";

const HOUR = 3_600_000;
const LENGTHS = [
  { value: "1", label: "1 hour" },
  { value: "4", label: "4 hours" },
  { value: "24", label: "1 day" },
  { value: "168", label: "1 week" },
] as const;

/** Keeps alerts like one quiet: of its harness, session or agent, or only its rule there. With no alert given, those that match. */
export function SilenceDialog({ alert, onClose }: { alert?: AlertView; onClose: () => void }) {
  const trpc = useTRPC();
  const { refresh, failed } = useAlertAction();
  const { harness, session, agent } = alert?.subject ?? { harness: null, session: null, agent: null };
  const labels = [
    { label: "harness", is: harness },
    { label: "session", is: session },
    { label: "agent", is: agent },
    { label: "rule", is: alert?.rule.name ?? null },
  ].filter((matcher): matcher is { label: string; is: string } => matcher.is !== null);
  const [lines, setLines] = useState("");
  const [most, setMost] = useState(String(Math.max(0, labels.length - 2)));
  const [hours, setHours] = useState<(typeof LENGTHS)[number]["value"]>("1");
  const [comment, setComment] = useState("");
  const end = useMutation(
    trpc.alerts.silences.end.mutationOptions({ onSuccess: refresh, onError: failed("end the silence") }),
  );
  const create = useMutation(
    trpc.alerts.silences.create.mutationOptions({
      onSuccess: ({ id }) => {
        onClose();
        toast.success("Silenced.", { action: { label: "Undo", onClick: () => end.mutate({ id }) } });
        return refresh();
      },
    }),
  );
  const written = readMatcherLines(lines);
  const matchers = alert === undefined ? written.matchers : labels.slice(0, Number(most) + 1);

  function submit(event: FormEvent) {
    event.preventDefault();
    const ends_at = new Date(Date.now() + Number(hours) * HOUR).toISOString();
    create.mutate({ matchers, comment: comment.trim(), ends_at });
  }
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title="Silence alerts"
      description="Nobody is notified of alerts that match. They still show on this page."
    >
      <form onSubmit={submit}>
        {alert === undefined ? (
          <MatchersField
            label="Labels (all of them must match; * matches any characters)"
            placeholder={"harness=phantom@vm-3\nagent!=reviewer"}
            text={lines}
            onChange={setLines}
          />
        ) : (
          labels.length > 0 && (
            <Radios
              legend="What"
              value={most}
              options={labels.map(({ label, is }, place) => ({
                value: String(place),
                label: label === "rule" ? `only the rule ${is}` : `${label} ${is}`,
              }))}
              onChange={setMost}
            />
          )
        )}
        <Radios legend="For" value={hours} options={LENGTHS} onChange={setHours} />
        <div className="mt-4">
          <TextField
            label="Why"
            required
            minLength={3}
            maxLength={500}
            placeholder="Restarting it"
            value={comment}
            onChange={(event) => setComment(event.target.value)}
          />
        </div>
        {create.isError && <FormError>Failed to silence: {create.error.message}</FormError>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look="primary"
            disabled={
              create.isPending ||
              comment.trim().length < 3 ||
              matchers.length === 0 ||
              written.mistake !== undefined
            }
          >
            Silence
          </Button>
        </div>
      </form>
    </Modal>
  );
}
