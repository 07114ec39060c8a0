/** What the tests use of oidc-provider, which has no types. */
declare module "oidc-provider" {
  import type { RequestListener } from "node:http";

  interface Source {
    accountId: string;
    grantId: string;
  }

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    callback(): RequestListener;
    on(
      event: "grant.success",
      listener: (ctx: {
        body: unknown;
        oidc: { account?: Source; entities: Record<string, Source> };
      }) => void,
    ): this;
    RefreshToken: { revokeByGrantId(grantId: string): Promise<void> };
    AccessToken: { revokeByGrantId(grantId: string): Promise<void> };
  }
}
