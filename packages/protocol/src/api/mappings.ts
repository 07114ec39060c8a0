import { z } from "zod";
import { MappingName, RecordMapping } from "../mapping/record-mapping.ts";

/** A mapping that the server applies to records of `/otlp/v1/*` that no dialect knows. */
export const SavedMapping = z.object({
  mapping: RecordMapping,
  updated_at: z.iso.datetime({ offset: true }),
});
export type SavedMapping = z.infer<typeof SavedMapping>;

/** By name, which is the order in which they are asked. */
export const SavedMappingList = z.object({ mappings: z.array(SavedMapping) });
export type SavedMappingList = z.infer<typeof SavedMappingList>;

export const RemoveMappingCall = z.object({ name: MappingName });
