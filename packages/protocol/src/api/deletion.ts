import { z } from "zod";
import { MOST_DELETED } from "./deletion-limit.ts";
import { callText, rowId } from "./parameters.ts";

const time = z.iso.datetime({ offset: true });

const ids = z.array(rowId).min(1).max(MOST_DELETED);
const instances = z
  .array(callText(256, z.string().min(1)))
  .min(1)
  .max(100);
/** Count what would be deleted, and delete nothing. */
const dryRun = z.boolean().default(false);

export const DeleteSessionsInput = z.object({ ids, dry_run: dryRun });
export const UndeleteSessionsInput = z.object({ ids });
export const DeleteHarnessesInput = z.object({ instances, dry_run: dryRun });
export const UndeleteHarnessesInput = z.object({ instances });
export const DeleteDemoInput = z.object({ dry_run: dryRun });

/** What a call deletes: hidden at once, removed from the disk after `undo_until`. */
export const DeletionView = z.object({
  harnesses: z.number().int(),
  sessions: z.number().int(),
  turns: z.number().int(),
  /** Null if nothing was deleted. */
  undo_until: time.nullable(),
});
export type DeletionView = z.infer<typeof DeletionView>;

/** What an undo brought back; less than was deleted if the time for undo is over. */
export const UndeletionView = z.object({ harnesses: z.number().int(), sessions: z.number().int() });
export type UndeletionView = z.infer<typeof UndeletionView>;
