import { z } from "zod";
import { rowId, rowNumber } from "./parameters.ts";

/** What people add to sessions: tags, a note, and saved views of the list. */
const time = z.iso.datetime({ offset: true });
const id = rowId;

export const LONGEST_TAG = 50;
export const MOST_TAGS = 20;
export const LONGEST_NOTE = 5_000;
/** Characters of a note in a list of sessions. */
export const NOTE_EXCERPT = 200;
/** Sessions that one call can change or export. */
export const MOST_SELECTED = 500;
export const MOST_SAVED_VIEWS = 100;

/** Lower case, with single spaces. Empty if nothing is left. */
export function normalizeTag(text: string): string {
  return text.normalize("NFC").replace(/\s+/gu, " ").trim().toLowerCase();
}

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u;
/** Notes may have lines, tabs and joined emoji, and no characters that change the direction of what follows. */
const HIDDEN_IN_NOTE = /[\p{Cs}\u202a-\u202e\u2066-\u2069]|(?![\n\r\t])\p{Cc}/u;

export const SessionTagName = z
  .string()
  .max(4 * LONGEST_TAG)
  .transform(normalizeTag)
  .pipe(
    z
      .string()
      .min(1, "must not be empty")
      .max(LONGEST_TAG, `must have at most ${LONGEST_TAG} characters`)
      .refine((tag) => !HIDDEN.test(tag), "must not contain control characters")
      .refine((tag) => !tag.includes(","), "must not contain a comma"),
  );

const selection = z.array(id).min(1).max(MOST_SELECTED);

export const SelectedSessions = z.object({ ids: selection });
export type SelectedSessions = z.infer<typeof SelectedSessions>;

export const TagSessionsCall = z.object({
  ids: selection,
  tag: SessionTagName,
  action: z.enum(["add", "remove"]),
});
export type TagSessionsCall = z.infer<typeof TagSessionsCall>;

export const TaggedSessions = z.object({
  tag: z.string(),
  /** Ids of the sessions whose tags changed. */
  changed: z.array(z.string()),
  /** Ids of sessions that have 20 tags already, and did not get another. */
  full: z.array(z.string()),
});
export type TaggedSessions = z.infer<typeof TaggedSessions>;

/** What sessions can be filtered by; at most 200 of each. */
export const SessionFilterValues = z.object({
  /** The most used first. */
  tags: z.array(z.object({ tag: z.string(), sessions: z.number().int() })),
  /** The latest to appear first. */
  models: z.array(z.string()),
  /** Those heard from last first. */
  machines: z.array(z.string()),
  repositories: z.array(z.string()),
  /** Of the repository that is asked about. */
  branches: z.array(z.string()),
});
export type SessionFilterValues = z.infer<typeof SessionFilterValues>;

export const SaveNoteCall = z.object({
  id,
  /** An empty text deletes the note. */
  note: z
    .string()
    .max(LONGEST_NOTE, `must have at most ${LONGEST_NOTE.toLocaleString("en-US")} characters`)
    .refine((note) => !HIDDEN_IN_NOTE.test(note), "must not contain control characters"),
  /** Revision of the note that was changed; 0 if there was none. */
  expected: rowNumber,
});
export type SaveNoteCall = z.infer<typeof SaveNoteCall>;

export const SessionNoteText = z.object({
  note: z.string(),
  revision: z.number().int(),
  /** Null if nobody has written a note. */
  updated_at: time.nullable(),
  /** Who wrote it: the name of a person, a browser or a key, or the command line. */
  updated_by: z.string().nullable(),
});
export type SessionNoteText = z.infer<typeof SessionNoteText>;

/** Parameters of the session list that a view holds. */
export const VIEW_PARAMETERS = [
  "range",
  "harness",
  "q",
  "kind",
  "status",
  "model",
  "machine",
  "repository",
  "branch",
  "person",
  "reason",
  "warned",
  "tag",
  "sort",
  "order",
  "columns",
] as const;

const isViewQuery = (query: string) =>
  [...new URLSearchParams(query).keys()].every((name) =>
    (VIEW_PARAMETERS as readonly string[]).includes(name),
  );

export const SaveSessionViewCall = z.object({
  /** Chosen by the caller, so that a repeated call saves the view once. */
  id,
  name: z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(60, "must have at most 60 characters")
    .refine((name) => !HIDDEN.test(name), "must not contain control characters"),
  /** Such as `status=live&sort=load`. */
  query: z
    .string()
    .max(2_000)
    .refine((query) => !query.includes("\u0000"), "must not contain a NUL character")
    .refine(isViewQuery, `may hold only ${VIEW_PARAMETERS.join(", ")}`),
  /** Opens when the page names no view and no filter. The project's other views are then no default. */
  is_default: z.boolean(),
});
export type SaveSessionViewCall = z.infer<typeof SaveSessionViewCall>;

export const RemoveSessionViewCall = z.object({ id });

export const SavedSessionView = z.object({
  id: z.string(),
  name: z.string(),
  query: z.string(),
  is_default: z.boolean(),
  created_at: time,
  /** Who saved it last; see `actor` of AuditEntryView. Null: before servers kept that. */
  actor: z.string().nullable(),
  actor_name: z.string().nullable(),
});
export type SavedSessionView = z.infer<typeof SavedSessionView>;

/** By name. */
export const SavedSessionViewList = z.object({ views: z.array(SavedSessionView) });
export type SavedSessionViewList = z.infer<typeof SavedSessionViewList>;
