/** @jsxImportSource #jsx */
"use client";

import type { WholePolicy } from "@plimsoll/protocol/api";
import type { PolicyBody } from "@plimsoll/protocol/policy";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError, TextField } from "../ui/field.tsx";
import { Radios } from "../ui/radios.tsx";
import { toast } from "../ui/toast.ts";
import { allClashes } from "./clashes.ts";
import { conflictOf } from "./conflict.ts";
import { PolicyDiff } from "./policy-diff.tsx";
import { AT_ONCE, planOf, RolloutChoice } from "./rollout-choice.tsx";

interface Props {
  base: WholePolicy;
  policy: PolicyBody;
  /** What it is written as. */
  text: string;
  onSaved: (saved: WholePolicy) => void;
  /** Somebody else saved a version meanwhile: the draft goes on as a change of theirs. */
  onRebase: (theirs: WholePolicy) => void;
  /** The draft gives way to what somebody else saved. */
  onTakeTheirs: (theirs: WholePolicy) => void;
  onClose: () => void;
}

const STARTS = [
  { value: "now", label: "from now on" },
  { value: "history", label: "also to recorded history" },
] as const;

/** Shows what changes, asks why, and saves. Render it to open it. */
export function SaveDialog({ base, policy, text, onSaved, onRebase, onTakeTheirs, onClose }: Props) {
  const trpc = useTRPC();
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [from, setFrom] = useState<"now" | "history">("now");
  const [rollout, setRollout] = useState(AT_ONCE);
  const save = useMutation(
    trpc.policies.save.mutationOptions({
      onSuccess: (saved) => {
        toast.success(`Saved as generation ${saved.generation}.`);
        onSaved(saved);
        return client.invalidateQueries();
      },
    }),
  );
  const conflict = conflictOf(save.error);
  const clashes = allClashes(policy);

  function submit(event: FormEvent) {
    event.preventDefault();
    const plan = from === "now" ? planOf(rollout) : undefined;
    save.mutate({ policy: text, expected: base.generation, reason: reason.trim(), from, rollout: plan });
  }

  if (conflict !== undefined)
    return (
      <Modal
        open
        onOpenChange={(open) => !open && onClose()}
        title="Somebody else saved this policy"
        description={`Generation ${conflict.generation} was saved while you were writing: ${conflict.reason}`}
      >
        <h3 className="mb-1 text-[13px] font-medium">From their version to yours</h3>
        <PolicyDiff before={conflict.policy} after={policy} label="From their version to yours" />
        <div className="mt-4 flex flex-wrap justify-end gap-2">
          <Button onClick={() => onTakeTheirs(conflict)}>Discard mine</Button>
          <Button
            look="primary"
            onClick={() => {
              onRebase(conflict);
              save.reset();
            }}
          >
            Review mine against theirs
          </Button>
        </div>
      </Modal>
    );
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title="Save policy"
      description="Harnesses that take policies get it within a second. Crossings that are recorded do not change."
    >
      <PolicyDiff before={base.policy} after={policy} label="Changes" />
      {clashes.length > 0 && (
        <div role="status" className="mt-3 text-[13px] text-warn-ink">
          {clashes.map((clash) => (
            <p key={clash}>{clash}</p>
          ))}
        </div>
      )}
      <form onSubmit={submit} className="mt-4">
        <TextField
          label="Reason"
          autoFocus
          required
          minLength={3}
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          placeholder="Opus loses the thread above 60%"
        />
        <Radios legend="Applies" value={from} options={STARTS} onChange={setFrom} />
        {from === "history" && (
          <p className="mt-1 text-xs text-muted">
            Crossings of the past are worked out again, except where a harness acknowledged another policy.
            This takes a while and goes on in the background.
          </p>
        )}
        {from === "now" && <RolloutChoice value={rollout} onChange={setRollout} />}
        {save.isError && <FormError>{save.error.message}</FormError>}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" disabled={save.isPending || reason.trim().length < 3}>
            Save policy
          </Button>
        </div>
      </form>
    </Modal>
  );
}
