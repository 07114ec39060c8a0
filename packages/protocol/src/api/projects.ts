import { z } from "zod";
import { callText, rowNumberText } from "./parameters.ts";

const id = rowNumberText.min(1);

/** A name of digits alone would be ambiguous: the same places also take an id. */
export const ProjectName = z
  .string()
  .trim()
  .min(1)
  .max(60)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to refuse
  .refine((name) => !/[\u0000-\u001f\u007f]/.test(name), "must not contain control characters")
  .refine((name) => !/^\d+$/.test(name), "must contain something other than digits");

export const ProjectView = z.object({
  id: z.number().int(),
  name: z.string(),
  /** The default project cannot be archived or deleted. */
  is_default: z.boolean(),
  created_at: z.iso.datetime({ offset: true }),
  /** Null while the project takes events. */
  archived_at: z.iso.datetime({ offset: true }).nullable(),
  /** Names of people are hidden from each other while fewer than five have a role in the project. */
  hides_names: z.boolean().default(false),
});
export type ProjectView = z.infer<typeof ProjectView>;

export const ProjectList = z.object({ projects: z.array(ProjectView) });

export const ProjectQuery = z.object({ id });
export const CreateProjectInput = z.object({ name: ProjectName });
export const RenameProjectInput = z.object({ id, name: ProjectName });
export const HideNamesInput = z.object({ id, hidden: z.boolean() });
/** `name` is the project's current name, as a confirmation. */
export const DeleteProjectInput = z.object({ id, name: callText(60) });
