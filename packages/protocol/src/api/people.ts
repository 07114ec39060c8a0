import { z } from "zod";
import { rowId, rowNumber } from "./parameters.ts";
import { ROLES } from "./roles.ts";

const time = z.iso.datetime({ offset: true });

const Role = z.enum(ROLES);

/** What a person may do, and where. The higher of the two roles counts in a project. */
export const RolesView = z.object({
  /** In every project, also in those made later; null for nobody's. */
  everywhere: Role.nullable(),
  projects: z.array(z.object({ project_id: z.number().int(), role: Role })),
});
export type RolesView = z.infer<typeof RolesView>;

/** A person who has signed in with the identity provider. */
export const PersonView = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  roles: RolesView,
  created_at: time,
  /** The last time that the person signed in. */
  last_login_at: time,
});
export type PersonView = z.infer<typeof PersonView>;

export const PersonList = z.object({
  people: z.array(PersonView),
  /** The identity provider gives the roles at each sign-in, so they cannot be set here. */
  roles_from_provider: z.boolean(),
  /** Null: people cannot sign in, because no identity provider is set up. */
  provider: z.string().nullable(),
});
export type PersonList = z.infer<typeof PersonList>;

export const SetRoleInput = z.object({
  id: rowId,
  /** Null: in every project. */
  project_id: rowNumber.min(1).nullable(),
  /** Null takes the role away. */
  role: Role.nullable(),
});

export const PersonInput = z.object({ id: rowId });

/** Who asks, and what they may do in the project that they ask about. */
export const AccountView = z.object({
  /** Null with a login link, the access token, or the command line on the server's machine. */
  person: z.object({ id: z.string(), name: z.string(), email: z.string().nullable() }).nullable(),
  role: Role.nullable(),
  everywhere: Role.nullable(),
  /** Whom to ask for a role: the names of those who are admin everywhere. Empty if the person has a role. */
  admins: z.array(z.string()),
});
export type AccountView = z.infer<typeof AccountView>;

/** How a person may sign in, besides a login link. */
export const SignInWays = z.object({
  access_token: z.boolean(),
  /** The name of the identity provider, for the button. */
  identity_provider: z.string().nullable(),
});
export type SignInWays = z.infer<typeof SignInWays>;
