/** The settings of the identity provider that people sign in with. */
export interface IdentitySettings {
  PLIMSOLL_OIDC_ISSUER?: string | undefined;
  PLIMSOLL_OIDC_CLIENT_ID?: string | undefined;
  PLIMSOLL_OIDC_CLIENT_SECRET?: string | undefined;
  /** JMESPath over a person's claims. */
  PLIMSOLL_OIDC_ROLE?: string | undefined;
  /** Any of these lets a person in; empty lets everybody in. */
  PLIMSOLL_OIDC_GROUPS: string[];
  /** Nobody gets in without a role from PLIMSOLL_OIDC_ROLE. */
  PLIMSOLL_OIDC_STRICT: boolean;
  PLIMSOLL_OIDC_SCOPES: string;
  /** The person with this confirmed address is admin everywhere. Lower case. */
  PLIMSOLL_OIDC_ADMIN?: string | undefined;
  /** On the button. */
  PLIMSOLL_OIDC_NAME?: string | undefined;
}

const NEEDED = [
  "PLIMSOLL_OIDC_ISSUER",
  "PLIMSOLL_OIDC_CLIENT_ID",
  "PLIMSOLL_OIDC_CLIENT_SECRET",
] as const satisfies (keyof IdentitySettings)[];

/** What is missing, a sentence each. Empty if the settings are complete, or none is set. */
export function identityFaults(settings: IdentitySettings): string[] {
  const {
    PLIMSOLL_OIDC_ROLE: role,
    PLIMSOLL_OIDC_GROUPS: groups,
    PLIMSOLL_OIDC_NAME: name,
    PLIMSOLL_OIDC_ADMIN: admin,
  } = settings;
  const given = [
    ...NEEDED.filter((key) => settings[key] !== undefined),
    ...(role === undefined ? [] : ["PLIMSOLL_OIDC_ROLE"]),
    ...(groups.length === 0 ? [] : ["PLIMSOLL_OIDC_GROUPS"]),
    ...(settings.PLIMSOLL_OIDC_STRICT ? ["PLIMSOLL_OIDC_STRICT"] : []),
    ...(admin === undefined ? [] : ["PLIMSOLL_OIDC_ADMIN"]),
    ...(name === undefined ? [] : ["PLIMSOLL_OIDC_NAME"]),
  ];
  if (given.length === 0) return [];
  const missing: string[] = NEEDED.filter((key) => settings[key] === undefined);
  const faults = missing.length === 0 ? [] : [`${given[0]} also needs ${missing.join(" and ")}.`];
  if (settings.PLIMSOLL_OIDC_STRICT && role === undefined)
    faults.push("PLIMSOLL_OIDC_STRICT=true also needs PLIMSOLL_OIDC_ROLE, which gives people their roles.");
  return faults;
}
