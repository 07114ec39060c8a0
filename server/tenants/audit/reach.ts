import { may, type Principal } from "../access/principal.ts";

/** Whose entries of the audit log a caller may see: a key and an admin of one project see those of that project alone. */
export const auditReach = (principal: Principal) =>
  principal.kind !== "key" && may(principal, "manage people")
    ? ({ everything: true } as const)
    : ({ everything: false, projectId: principal.projectId } as const);
