import { MOST_MAPPINGS } from "@plimsoll/protocol";
import type { PrismaClient } from "../db/client.ts";

/** The rows of a project's mappings, by name. */
export const storedMappings = (prisma: Pick<PrismaClient, "recordMapping">, projectId: number) =>
  prisma.recordMapping.findMany({ where: { projectId }, orderBy: { name: "asc" }, take: MOST_MAPPINGS });
