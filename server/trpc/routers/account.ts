import {
  AccountView,
  AddPasskeyInput,
  AuditPage,
  AuditQuery,
  BrowserList,
  DecideMachineInput,
  InvitePersonInput,
  MachineCodeInput,
  MachineList,
  PasskeyInput,
  PasskeyOptions,
  PasskeyView,
  PersonInput,
  PersonLink,
  PersonList,
  PersonNames,
  PersonView,
  SetRoleInput,
  SignOutInput,
  SignOutOthersInput,
  WaitingMachine,
} from "@plimsoll/protocol/api";
import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import { z } from "zod";
import { PlimsollError } from "../../errors.ts";
import { readEntries } from "../../read/audit.ts";
import { readMachines } from "../../read/machines.ts";
import { loginUrl } from "../../tenants/access/index.ts";
import { actorOf, may, type Principal } from "../../tenants/access/principal.ts";
import { auditReach } from "../../tenants/audit/reach.ts";
import type { People } from "../../tenants/people/people.ts";
import { readShownNames } from "../../tenants/people/shown-names.ts";
import type { Services } from "../context.ts";
import { freshProcedure, procedure, restRoutes, router } from "../init.ts";

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
      const { browser, person } = principal;
      const isLimited = ownerOf(principal) !== undefined;
      return { browsers: await services.browsers.list(browser?.id, person?.id, isLimited) };
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
    .input(SignOutOthersInput.optional())
    .output(z.object({ signed_out: z.number().int() }))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      const { browser, person } = principal;
      const whose = input?.own ? person?.id : ownerOf(principal);
      return { signed_out: await services.browsers.signOutOthers(browser?.id, actorOf(principal), whose) };
    }),
});

/** Machines that report, and those that wait for a person to confirm them. */
export const machines = router({
  list: freshProcedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/machines",
        tags: ["metrics"],
        summary: "Machines that report, and which of them stopped while sessions were at work",
      },
    })
    .input(z.object({}).optional())
    .output(MachineList)
    .query(({ ctx }) => readMachines(ctx.reader)),

  /** Like `decide` a mutation, because each call may be a guess. */
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
      const { projectId: id, person } = principal;
      const { name } = (await services.projects.list()).find((project) => project.id === id)!;
      const decision = { approve, actor: actorOf(principal), project: { id, name }, personId: person?.id };
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
      return readEntries(services.prisma, auditReach(principal), input);
    }),
});

/** @throws PlimsollError `conflict` for a login link, the access token or the command line */
function requireSelf({ person, browser }: Principal) {
  if (person !== undefined && browser?.origin !== undefined)
    return { personId: person.id, binding: browser.id, origin: browser.origin };
  throw new PlimsollError("conflict", "Only a person has passkeys, and adds them in a browser.");
}

/** The passkeys of who asks. */
export const passkeys = router({
  list: procedure("know oneself")
    .input(z.object({}).optional())
    .output(z.object({ passkeys: z.array(PasskeyView) }))
    .query(async ({ ctx: { principal, services } }) => {
      const { person } = principal;
      return { passkeys: person ? await services.passkeys.list(person.id) : [] };
    }),

  /** What the browser needs to make one. */
  begin: procedure("know oneself")
    .input(z.object({}).optional())
    .output(PasskeyOptions)
    .mutation(async ({ ctx: { principal, services } }) => {
      const { personId, origin, binding } = requireSelf(principal);
      return { ...(await services.passkeys.begin(personId, origin, binding)) };
    }),

  add: procedure("know oneself")
    .input(AddPasskeyInput)
    .output(PasskeyView)
    .mutation(({ ctx: { principal, services }, input: { name, credential } }) => {
      const made = credential as unknown as RegistrationResponseJSON;
      return services.passkeys.add({ ...requireSelf(principal), name }, made, actorOf(principal));
    }),

  remove: procedure("know oneself")
    .input(PasskeyInput)
    .output(z.object({ removed: z.literal(true) }))
    .mutation(async ({ ctx: { principal, services }, input }) => {
      await services.passkeys.remove(requireSelf(principal).personId, input.id, actorOf(principal));
      return { removed: true as const };
    }),
});

/** The people who signed in with the identity provider or were invited, and their roles. */
export const people = router({
  names: procedure("read")
    .meta({
      openapi: {
        method: "GET",
        path: "/api/v1/people",
        tags: ["people"],
        summary: "Names of people, as far as the caller may see whose sessions are whose",
      },
    })
    .input(z.object({}).optional())
    .output(PersonNames)
    .query(async ({ ctx: { principal, services } }) => {
      const { projectId, person } = principal;
      const shown = await readShownNames(services.prisma, projectId, person?.id);
      return { people: [...shown].map(([id, name]) => ({ id, name })) };
    }),

  list: procedure("manage people")
    .input(z.object({}).optional())
    .output(PersonList)
    .query(({ ctx: { services } }) => services.people.list()),

  invite: procedure("manage people")
    .input(InvitePersonInput)
    .output(PersonLink)
    .mutation(async ({ ctx: { principal, services }, input }) =>
      linkOf(services, await services.people.invite(input, actorOf(principal))),
    ),

  /** Another link for an invited person. */
  makeLink: procedure("manage people")
    .input(PersonInput)
    .output(PersonLink)
    .mutation(async ({ ctx: { principal, services }, input }) =>
      linkOf(services, await services.people.makeLink(input.id, actorOf(principal))),
    ),

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

const linkOf = (
  { publicUrl }: Pick<Services, "publicUrl">,
  { person, token, expiresAt }: Awaited<ReturnType<People["invite"]>>,
): PersonLink => ({ person, url: loginUrl(publicUrl(), token), expires_at: expiresAt.toISOString() });
