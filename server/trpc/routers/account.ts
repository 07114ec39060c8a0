import {
  AccountView,
  AuditPage,
  AuditQuery,
  BrowserList,
  DecideMachineInput,
  MachineCodeInput,
  PersonInput,
  PersonList,
  PersonView,
  SetRoleInput,
  SignOutInput,
  WaitingMachine,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { readEntries } from "../../read/audit.ts";
import { actorOf, may, type Principal } from "../../tenants/access/principal.ts";
import { procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("audit");

/** Whose browsers a person manages: their own, or everybody's (undefined). */
const ownerOf = (principal: Principal) =>
  may(principal, "manage people") ? undefined : principal.person?.id;

/** Who asks, and what they may do. */
export const account = procedure("know oneself")
  .input(z.object({}).optional())
  .output(AccountView)
  .query(({ ctx: { principal, services } }) => services.people.account(principal));

/** The browsers that are signed in. */
export const browsers = router({
  list: procedure("use an account")
    .input(z.object({}).optional())
    .output(BrowserList)
    .query(async ({ ctx: { principal, services } }) => {
      return { browsers: await services.browsers.list(principal.browser?.id, ownerOf(principal)) };
    }),

  signOut: procedure("use an account")
    .input(SignOutInput)
    .output(z.object({ signed_out: z.literal(true) }))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.browsers.signOut(input.id, actorOf(principal), ownerOf(principal));
      return { signed_out: true as const };
    }),

  /** Every browser but the one that asks. */
  signOutOthers: procedure("use an account")
    .input(z.object({}).optional())
    .output(z.object({ signed_out: z.number().int() }))
    .mutation(async ({ ctx: { principal, services } }) => {
      const { browser } = principal;
      const actor = actorOf(principal);
      return { signed_out: await services.browsers.signOutOthers(browser?.id, actor, ownerOf(principal)) };
    }),
});

/** Machines that wait for a person to confirm them. Both are mutations, because each call may be a guess. */
export const machines = router({
  look: procedure("connect machines")
    .input(MachineCodeInput)
    .output(WaitingMachine)
    .mutation(({ ctx: { principal, services }, input }) => {
      return services.machineLogins.look(input.user_code, clientOf(principal));
    }),

  /** Its keys belong to the project of this call. */
  decide: procedure("connect machines")
    .input(DecideMachineInput)
    .output(z.object({ approved: z.boolean() }))
    .mutation(async ({ ctx: { principal, services }, input: { user_code, approve } }) => {
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
  list: procedure("administer")
    .meta(
      rest(
        "GET",
        "/audit",
        "Who changed what, newest first; for a key and for an admin of one project, in that project alone",
      ),
    )
    .input(AuditQuery)
    .output(AuditPage)
    .query(({ ctx: { principal, services }, input }) => {
      const { kind, projectId } = principal;
      const isAnyProject = kind !== "key" && may(principal, "manage people");
      const reach = isAnyProject
        ? ({ everything: true } as const)
        : ({ everything: false, projectId } as const);
      return readEntries(services.prisma, reach, input);
    }),
});

/** The people who signed in with the identity provider, and their roles. */
export const people = router({
  list: procedure("manage people")
    .input(z.object({}).optional())
    .output(PersonList)
    .query(({ ctx: { services } }) => services.people.list()),

  setRole: procedure("manage people")
    .input(SetRoleInput)
    .output(PersonView)
    .mutation(({ ctx: { principal, services }, input }) =>
      services.people.setRole(input, actorOf(principal)),
    ),

  remove: procedure("manage people")
    .input(PersonInput)
    .output(z.object({ removed: z.literal(true) }))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.people.remove(input.id, actorOf(principal));
      return { removed: true as const };
    }),
});
