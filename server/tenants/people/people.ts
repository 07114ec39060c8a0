import { randomUUID } from "node:crypto";
import type {
  AccountView,
  InvitePersonInput,
  PersonList,
  PersonView,
  Role,
  RolesView,
  SetRoleInput,
} from "@plimsoll/protocol/api";
import type { z } from "zod";
import type { Person, ProjectRole } from "../../db/generated/client.ts";
import type { PrismaClient } from "../../db/index.ts";
import { PlimsollError } from "../../errors.ts";
import { hashSecret, makeToken } from "../../key-format.ts";
import { DAY_MS } from "../../times.ts";
import type { Principal } from "../access/principal.ts";
import { type Actor, addEntry } from "../audit/entry.ts";
import type { ProjectDirectory } from "../projects/directory.ts";
import { noProject } from "../projects/projects.ts";
import type { NamedRoles } from "./group-roles.ts";
import type { IdentityProvider, PersonIdentity } from "./identity-provider.ts";
import { type Roles, roleIn } from "./permissions.ts";

type PersonWithRoles = Person & { roles: ProjectRole[] };

/** The issuer of people who were invited. No identity provider has it: theirs are addresses. */
export const INVITED = "plimsoll";
/** How long the link of an invited person may be opened, in ms. */
const LINK_MS = 7 * DAY_MS;

interface PeopleOptions {
  prisma: PrismaClient;
  provider: IdentityProvider | undefined;
  /** Who is admin everywhere from the first sign-in: PLIMSOLL_ADMIN_EMAIL, lower case. */
  adminEmail: string | undefined;
  projects: Pick<ProjectDirectory, "list" | "get">;
  /** Has every process read sessions and keys again, by their hashes. */
  changed: (credentials: readonly { hash: Uint8Array }[]) => void;
  now?: () => number;
}

export type People = ReturnType<typeof createPeople>;

/** The people who signed in with the identity provider or were invited, and what they may do. */
export function createPeople({
  prisma,
  provider,
  adminEmail,
  projects,
  changed,
  now = Date.now,
}: PeopleOptions) {
  /** Sessions and keys whose cached roles are out of date. */
  async function credentialsOf(personId: string): Promise<{ hash: Uint8Array }[]> {
    const those = { where: { personId }, select: { hash: true } } as const;
    return [...(await prisma.browserSession.findMany(those)), ...(await prisma.apiKey.findMany(those))];
  }

  /** @throws PlimsollError `not_found` */
  async function projectOf(id: number | null) {
    const project = id === null ? undefined : await projects.get(id);
    if (id !== null && project === undefined) throw noProject(String(id));
    return project;
  }

  /** A secret for a link that replaces the one before. Goes into the row of a person. */
  function newLink() {
    const token = makeToken();
    const expiresAt = new Date(now() + LINK_MS);
    return { token, expiresAt, row: { linkHash: hashSecret(token), linkExpiresAt: expiresAt } };
  }

  /** The roles that an identity provider gives by the names of projects; those of unknown projects are left out. */
  async function rolesFrom({ everywhere, projects: named }: NamedRoles) {
    const rows = (await projects.list()).flatMap(({ id, name }) => {
      const role = Object.hasOwn(named, name) ? named[name] : undefined;
      return role === undefined ? [] : [{ project: id, role }];
    });
    return { everywhere, rows };
  }

  /** Keeps what the identity provider says about a person: their name, and their roles if it gives any. */
  async function keep(identity: PersonIdentity, why: "sign_in" | "renewal"): Promise<Person | undefined> {
    const { issuer, subject, email, emailVerified, name, refusal } = identity;
    const at = new Date(now());
    const isAdmin = refusal === null && emailVerified && email !== null && email.toLowerCase() === adminEmail;
    const given = identity.roles && (await rolesFrom(identity.roles));
    const facts = { name: name ?? email ?? subject, email, ...(why === "sign_in" && { lastLoginAt: at }) };
    const where = { issuer_subject: { issuer, subject } };
    const kept = await prisma.$transaction(async (tx) => {
      const known = await tx.person.findUnique({ where, include: { roles: true } });
      // Removed while the provider was asked.
      if (known === null && why === "renewal") return undefined;
      const everywhere = isAdmin ? "admin" : given ? given.everywhere : (known?.everywhere ?? null);
      const hasSameRoles =
        known?.everywhere === everywhere && (given === null || sameRoles(known.roles, given.rows));
      if (known !== null && hasSameRoles && isSamePerson(known, facts) && why === "renewal")
        return { person: known, hasSameRoles };
      const person = await tx.person.upsert({
        where,
        create: { id: randomUUID(), issuer, subject, createdAt: at, lastLoginAt: at, everywhere, ...facts },
        update: { ...facts, everywhere },
      });
      const actor = { kind: "person", id: person.id, name: person.name, address: null } as const;
      if (known === null)
        await addEntry(tx, at.getTime(), { actor, action: "person_added", target: person.name });
      else if (!hasSameRoles) {
        const detail = "by the identity provider";
        await addEntry(tx, at.getTime(), { actor, action: "role_set", target: person.name, detail });
      }
      if (given !== null && !hasSameRoles) {
        await tx.projectRole.deleteMany({ where: { personId: person.id } });
        await tx.projectRole.createMany({
          data: given.rows.map((role) => ({ personId: person.id, ...role })),
          skipDuplicates: true,
        });
      }
      return { person, hasSameRoles };
    });
    if (kept && !kept.hasSameRoles) changed(await credentialsOf(kept.person.id));
    return kept?.person;
  }

  return {
    /**
     * Lets a person in who signed in with the identity provider.
     * @returns who they are here
     * @throws PlimsollError `forbidden_scope` if their groups refuse them
     */
    async admit(identity: PersonIdentity): Promise<{ id: string; name: string }> {
      if (identity.refusal !== null) {
        // Their keys lose what the groups gave.
        await keep(identity, "renewal");
        throw new PlimsollError("forbidden_scope", identity.refusal);
      }
      const { id, name } = (await keep(identity, "sign_in"))!;
      return { id, name };
    },

    /** Keeps what the provider says now about a person who is here, or may be no more. */
    async renew(identity: PersonIdentity): Promise<void> {
      await keep(identity, "renewal");
    },

    async list(): Promise<z.infer<typeof PersonList>> {
      const rows = await prisma.person.findMany({
        include: { roles: true },
        orderBy: [{ name: "asc" }, { id: "asc" }],
      });
      return {
        people: rows.map(viewOf),
        roles_from_provider: provider?.givesRoles ?? false,
        provider: provider?.name ?? null,
      };
    },

    /**
     * Lets a person in who opened their link. It works once.
     * @returns who they are; undefined if there is no such link any more
     */
    async admitByLink(token: string): Promise<{ id: string; name: string } | undefined> {
      const at = new Date(now());
      const [person] = await prisma.person.updateManyAndReturn({
        where: { linkHash: hashSecret(token), linkExpiresAt: { gt: at } },
        data: { linkHash: null, linkExpiresAt: null, lastLoginAt: at },
        select: { id: true, name: true },
      });
      return person;
    },

    /**
     * Adds a person with a role, who signs in with a link.
     * @returns `token` is the secret of the link, and in this answer alone
     * @throws PlimsollError `not_found`
     */
    async invite({ name, project_id, role }: InvitePersonInput, actor: Actor) {
      const project = await projectOf(project_id);
      const link = newLink();
      const id = randomUUID();
      const person = await prisma.$transaction(async (tx) => {
        await addEntry(tx, now(), {
          actor,
          action: "person_added",
          ...(project && { projectId: project.id }),
          target: name,
          detail: `${role} in ${project?.name ?? "every project"}`,
        });
        return tx.person.create({
          data: {
            ...{ id, issuer: INVITED, subject: id, name, createdAt: new Date(now()), ...link.row },
            ...(project ? { roles: { create: { project: project.id, role } } } : { everywhere: role }),
          },
          include: { roles: true },
        });
      });
      return { person: viewOf(person), token: link.token, expiresAt: link.expiresAt };
    },

    /**
     * Another link for an invited person, such as for one without a passkey. The one before works no more.
     * @returns `token` is the secret of the link, and in this answer alone
     * @throws PlimsollError `not_found`; `conflict` for a person of the identity provider
     */
    async makeLink(id: string, actor: Actor) {
      const link = newLink();
      const person = await prisma.$transaction(async (tx) => {
        const known = await tx.person.findUnique({ where: { id } });
        if (known === null) throw noPerson();
        if (known.issuer !== INVITED)
          throw new PlimsollError("conflict", `${known.name} signs in with the identity provider.`);
        await addEntry(tx, now(), { actor, action: "person_link_made", target: known.name });
        return tx.person.update({ where: { id }, data: link.row, include: { roles: true } });
      });
      return { person: viewOf(person), token: link.token, expiresAt: link.expiresAt };
    },

    /** @throws PlimsollError `not_found`; `conflict` if the identity provider gives the roles */
    async setRole({ id, project_id, role }: z.infer<typeof SetRoleInput>, actor: Actor): Promise<PersonView> {
      const project = await projectOf(project_id);
      const person = await prisma.$transaction(async (tx) => {
        const known = await tx.person.findUnique({ where: { id } });
        if (known === null) throw noPerson();
        if (provider?.givesRoles && known.issuer !== INVITED) {
          throw new PlimsollError(
            "conflict",
            "The identity provider gives the roles (PLIMSOLL_OIDC_ROLE). Change the person's groups there.",
          );
        }
        if (project === undefined) await tx.person.update({ where: { id }, data: { everywhere: role } });
        else if (role === null)
          await tx.projectRole.deleteMany({ where: { personId: id, project: project.id } });
        else {
          await tx.projectRole.upsert({
            where: { personId_project: { personId: id, project: project.id } },
            create: { personId: id, project: project.id, role },
            update: { role },
          });
        }
        await addEntry(tx, now(), {
          actor,
          action: "role_set",
          ...(project && { projectId: project.id }),
          target: known.name,
          detail: `${role ?? "no role"} in ${project === undefined ? "every project" : project.name}`,
        });
        return tx.person.findUniqueOrThrow({ where: { id }, include: { roles: true } });
      });
      changed(await credentialsOf(id));
      return viewOf(person);
    },

    /**
     * Removes a person with their sessions, keys and passkeys. They may sign in again if the identity provider still lets them.
     * @throws PlimsollError `not_found`
     */
    async remove(id: string, actor: Actor): Promise<void> {
      const credentials = await credentialsOf(id);
      await prisma.$transaction(async (tx) => {
        const known = await tx.person.findUnique({ where: { id } });
        if (known === null) throw noPerson();
        await tx.person.delete({ where: { id } });
        await addEntry(tx, now(), { actor, action: "person_removed", target: known.name });
      });
      changed(credentials);
    },

    /** Who asks, and what they may do in the project that they ask about. */
    async account(principal: Principal): Promise<AccountView> {
      const { person, roles, projectId } = principal;
      const role = roles === undefined ? null : roleIn(roles, projectId);
      const row =
        person && (await prisma.person.findUnique({ where: { id: person.id }, include: { roles: true } }));
      const all = row && row.roles.length > 0 ? await projects.list() : [];
      const admins = role === null ? await prisma.person.findMany({ where: { everywhere: "admin" } }) : [];
      return {
        person: row
          ? { id: row.id, name: row.name, email: row.email, invited: row.issuer === INVITED }
          : null,
        role,
        everywhere: roles?.everywhere ?? null,
        projects: all.flatMap(({ id, name }) => {
          const own = roles?.projects.get(id);
          return own === undefined ? [] : [{ name, role: own }];
        }),
        admins: admins.map(({ name }) => name),
      };
    },
  };
}

const noPerson = () => new PlimsollError("not_found", "There is no such person. They may have been removed.");

const isSamePerson = (known: Person, { name, email }: Pick<Person, "name" | "email">) =>
  known.name === name && known.email === email;

const sameRoles = (known: readonly ProjectRole[], given: readonly { project: number; role: Role }[]) =>
  known.length === given.length &&
  given.every(({ project, role }) => known.some((one) => one.project === project && one.role === role));

/** The roles in a row of the database. */
export const rolesIn = ({ everywhere, roles }: PersonWithRoles): Roles => ({
  everywhere: everywhere as Role | null,
  projects: new Map(roles.map(({ project, role }) => [project, role as Role])),
});

function viewOf(row: PersonWithRoles): PersonView {
  const roles: RolesView = {
    everywhere: row.everywhere as Role | null,
    projects: row.roles.map(({ project, role }) => ({ project_id: project, role: role as Role })),
  };
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    roles,
    created_at: row.createdAt.toISOString(),
    last_login_at: row.lastLoginAt?.toISOString() ?? null,
    invited: row.issuer === INVITED,
    link_expires_at: row.linkExpiresAt?.toISOString() ?? null,
  };
}
