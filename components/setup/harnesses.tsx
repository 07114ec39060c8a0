/** @jsxImportSource #jsx */
"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Ago } from "../clock.tsx";
import { amountText } from "../deletion/amount-text.ts";
import { useDeletion } from "../deletion/use-deletion.ts";
import { exact } from "../format.ts";
import { usePeopleNames } from "../people/use-people-names.ts";
import { useTRPC } from "../trpc.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { FormError } from "../ui/field.tsx";
import { Name } from "../ui/name.tsx";
import { ScrollRegion } from "../ui/scroll-region.tsx";
import { NotLoaded } from "../ui/states.tsx";
import { Section } from "./section.tsx";

/** The harness instances of the project. Each can be deleted with its sessions. */
export function Harnesses() {
  const query = useQuery(useTRPC().harnesses.queryOptions({}));
  const [deleting, setDeleting] = useState<string>();
  const people = usePeopleNames();
  const { harnesses = [], more = 0 } = query.data ?? {};
  return (
    <Section
      id="harnesses"
      title="Harnesses"
      note="Every harness instance that has sent events. Deleting one deletes all of its sessions."
    >
      {query.data === undefined ? (
        <NotLoaded query={query} what="the harnesses" className="h-10" />
      ) : harnesses.length === 0 ? (
        <p className="text-[13px] text-muted">No harness has sent an event yet.</p>
      ) : (
        <ScrollRegion label="Harnesses" className="max-h-72 overflow-y-auto">
          <ul data-testid="harnesses">
            {harnesses.map(({ instance, version, last_at, person }) => (
              <li
                key={instance}
                className="flex items-center gap-3 border-t py-2 text-[13px] first:border-t-0"
              >
                <span className="min-w-0 flex-1 font-medium wrap-anywhere">
                  <Name>{instance}</Name>
                  {version !== null && <span className="font-normal text-muted"> {version}</span>}
                  {person !== null && people.has(person) && (
                    <span className="font-normal text-muted">
                      {" · "}
                      <Name>{people.get(person)}</Name>
                    </span>
                  )}
                </span>
                <span className="shrink-0 text-muted max-sm:hidden">
                  heard <Ago at={last_at} />
                </span>
                <Button
                  size="small"
                  onClick={() => setDeleting(instance)}
                  aria-label={`Delete ${instance} and its sessions`}
                >
                  Delete
                </Button>
              </li>
            ))}
          </ul>
        </ScrollRegion>
      )}
      {more > 0 && <p className="mt-2 text-[13px] text-muted">and {exact(more)} more</p>}
      {deleting !== undefined && <DeleteHarness instance={deleting} onClose={() => setDeleting(undefined)} />}
    </Section>
  );
}

/** Says how much is deleted before it is. Render it to open it. */
function DeleteHarness({ instance, onClose }: { instance: string; onClose: () => void }) {
  const { harnesses: remove, counted } = useCountedDeletion(instance);
  return (
    <Modal
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Delete “${instance}”?`}
      description="This deletes its sessions, their turns and their part of the charts. You can undo it for ten seconds. If the harness is still running, its next event adds it again."
    >
      <p role="status" className="min-h-5 text-[13px]">
        {counted.data !== undefined && `This deletes ${amountText(counted.data)}.`}
        {counted.isError && `What is deleted could not be counted: ${counted.error.message}`}
      </p>
      {remove.isError && <FormError>The harness was not deleted: {remove.error.message}</FormError>}
      <div className="mt-4 flex justify-end gap-2">
        <Button onClick={onClose}>Keep it</Button>
        <Button
          look="danger"
          disabled={remove.isPending || remove.isSuccess}
          onClick={() => remove.mutate({ instances: [instance] }, { onSuccess: onClose })}
        >
          Delete
        </Button>
      </div>
    </Modal>
  );
}

function useCountedDeletion(instance: string) {
  const trpc = useTRPC();
  const { harnesses } = useDeletion();
  const counted = useQuery(trpc.harness.count.queryOptions({ instances: [instance] }, { staleTime: 0 }));
  return { harnesses, counted };
}
