import { z } from "zod";
import { callText, rowId, rowNumber } from "./parameters.ts";
import { ROLES } from "./roles.ts";

const time = z.iso.datetime({ offset: true });

const Role = z.enum(ROLES);
const personName = callText(100, z.string().trim().min(1));

/** What a person may do, and where. The higher of the two roles counts in a project. */
export const RolesView = z.object({
  /** In every project, also in those made later; null for nobody's. */
  everywhere: Role.nullable(),
  projects: z.array(z.object({ project_id: z.number().int(), role: Role })),
});
export type RolesView = z.infer<typeof RolesView>;

/** A person who has signed in with the identity provider, or was invited. */
export const PersonView = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  roles: RolesView,
  created_at: time,
  /** The last time that the person signed in; null before the first. */
  last_login_at: time.nullable(),
  /** Signs in with a link or a passkey, not with the identity provider. */
  invited: z.boolean(),
  /** Until when the person's link may be opened; null without one. */
  link_expires_at: time.nullable(),
});
export type PersonView = z.infer<typeof PersonView>;

export const PersonList = z.object({
  people: z.array(PersonView),
  /** The identity provider gives the roles at each sign-in, so they cannot be set here. */
  roles_from_provider: z.boolean(),
  /** Null: no identity provider is set up. */
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

export const InvitePersonInput = z.object({
  name: personName,
  /** Null: in every project. */
  project_id: rowNumber.min(1).nullable(),
  role: Role,
});
export type InvitePersonInput = z.infer<typeof InvitePersonInput>;

/** With which an invited person signs in, once. Shown only here. */
export const PersonLink = z.object({ person: PersonView, url: z.string(), expires_at: time });
export type PersonLink = z.infer<typeof PersonLink>;

export const PasskeyView = z.object({
  id: z.string(),
  name: z.string(),
  /** The host name for which it was made. It works nowhere else. */
  site: z.string(),
  created_at: time,
  last_used_at: time.nullable(),
});
export type PasskeyView = z.infer<typeof PasskeyView>;

const base64url = (most: number) => z.string().min(1).max(most);

/** What a browser's `PublicKeyCredential.toJSON()` gives. */
const credential = <Response extends z.ZodRawShape>(response: Response) =>
  z.looseObject({
    id: base64url(1_400),
    rawId: base64url(1_400),
    type: z.literal("public-key"),
    response: z.looseObject({ clientDataJSON: base64url(8_000), ...response }),
    clientExtensionResults: z.looseObject({}),
  });

export const AddPasskeyInput = z.object({
  /** To tell passkeys apart. */
  name: personName,
  credential: credential({ attestationObject: base64url(16_000) }),
});
export type AddPasskeyInput = z.infer<typeof AddPasskeyInput>;

/** What a browser takes to make a passkey: `PublicKeyCredentialCreationOptionsJSON`. */
export const PasskeyOptions = z.looseObject({ challenge: z.string() });

export const PasskeySignIn = z.object({
  credential: credential({ authenticatorData: base64url(8_000), signature: base64url(8_000) }),
});

export const PasskeyInput = z.object({ id: base64url(1_400) });

/** Answers a login. */
export const LoginAnswer = z.object({
  ok: z.literal(true),
  /** Signed in as somebody, not with everything allowed. */
  person: z.boolean(),
});
export type LoginAnswer = z.infer<typeof LoginAnswer>;

/** The names that the caller may see, of people whose sessions there are or may be. */
export const PersonNames = z.object({ people: z.array(z.object({ id: z.string(), name: z.string() })) });
export type PersonNames = z.infer<typeof PersonNames>;

/** Who asks, and what they may do in the project that they ask about. */
export const AccountView = z.object({
  /** Null with a login link, the access token, or the command line on the server's machine. */
  person: z
    .object({
      id: z.string(),
      name: z.string(),
      email: z.string().nullable(),
      /** Signs in with a link or a passkey. */
      invited: z.boolean(),
    })
    .nullable(),
  role: Role.nullable(),
  everywhere: Role.nullable(),
  /** Roles in single projects. */
  projects: z.array(z.object({ name: z.string(), role: Role })),
  /** Whom to ask for a role: the names of those who are admin everywhere. Empty if the person has a role. */
  admins: z.array(z.string()),
});
export type AccountView = z.infer<typeof AccountView>;

/** How a person may sign in, besides a login link. */
export const SignInWays = z.object({
  access_token: z.boolean(),
  /** The name of the identity provider, for the button. */
  identity_provider: z.string().nullable(),
  /** Somebody has a passkey for this address. */
  passkeys: z.boolean(),
});
export type SignInWays = z.infer<typeof SignInWays>;
