import {
  AuditPage,
  AuditQuery,
  BrowserList,
  DecideMachineInput,
  MachineCodeInput,
  SignOutInput,
  WaitingMachine,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { PlimsollError } from "../../errors.ts";
import { readEntries } from "../../read/audit.ts";
import { actorOf, type Principal } from "../../tenants/access/principal.ts";
import { procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("audit");

/** @throws PlimsollError `wrong_project` for a key: a browser session or a machine may reach any project, and a key its own */
function requirePerson({ kind }: Principal): void {
  if (kind !== "key") return;
  throw new PlimsollError(
    "wrong_project",
    "A key works only in its own project, and this concerns every project. Use Setup, or the command line on the server's machine without a key.",
  );
}

/** The browsers that are signed in. */
export const browsers = router({
  list: procedure("admin")
    .input(z.object({}).optional())
    .output(BrowserList)
    .query(async ({ ctx: { principal, services } }) => {
      requirePerson(principal);
      return { browsers: await services.browsers.list(principal.browser?.id) };
    }),

  signOut: procedure("admin")
    .input(SignOutInput)
    .output(z.object({ signed_out: z.literal(true) }))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      requirePerson(principal);
      await services.browsers.signOut(input.id, actorOf(principal));
      return { signed_out: true as const };
    }),

  /** Every browser but the one that asks. */
  signOutOthers: procedure("admin")
    .input(z.object({}).optional())
    .output(z.object({ signed_out: z.number().int() }))
    .mutation(async ({ ctx: { principal, services } }) => {
      requirePerson(principal);
      return { signed_out: await services.browsers.signOutOthers(principal.browser?.id, actorOf(principal)) };
    }),
});

/** Machines that wait for a person to confirm them. Both are mutations, because each call may be a guess. */
export const machines = router({
  look: procedure("admin")
    .input(MachineCodeInput)
    .output(WaitingMachine)
    .mutation(({ ctx: { principal, services }, input }) => {
      requirePerson(principal);
      return services.machineLogins.look(input.user_code, clientOf(principal));
    }),

  /** Its keys belong to the project of this call. */
  decide: procedure("admin")
    .input(DecideMachineInput)
    .output(z.object({ approved: z.boolean() }))
    .mutation(async ({ ctx: { principal, services }, input: { user_code, approve } }) => {
      requirePerson(principal);
      const id = principal.projectId;
      const { name } = (await services.projects.list()).find((project) => project.id === id)!;
      const decision = { approve, actor: actorOf(principal), project: { id, name } };
      await services.machineLogins.decide(user_code, clientOf(principal), decision);
      return { approved: approve };
    }),
});

const clientOf = ({ browser }: Principal) => browser?.address ?? "this machine";

/** The audit log. */
export const audit = router({
  list: procedure("admin")
    .meta(rest("GET", "/audit", "Who changed what, newest first; for a key, in its own project alone"))
    .input(AuditQuery)
    .output(AuditPage)
    .query(({ ctx: { principal, services }, input }) => {
      const { kind, projectId } = principal;
      const reach =
        kind === "key" ? ({ everything: false, projectId } as const) : ({ everything: true } as const);
      return readEntries(services.prisma, reach, input);
    }),
});
