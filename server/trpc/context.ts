import type { Alerts } from "../alerts/index.ts";
import type { SessionNotes } from "../annotations/session-notes.ts";
import type { SessionTags } from "../annotations/session-tags.ts";
import type { SessionViews } from "../annotations/session-views.ts";
import type { CertificateState } from "../certificate.ts";
import type { PrismaClient } from "../db/client.ts";
import type { DatabaseWatch } from "../db/database-watch.ts";
import type { Demo } from "../demo/run.ts";
import type { Behind, FreshnessSource } from "../lines/reader.ts";
import type { Mappings } from "../mappings/mappings.ts";
import type { Policies } from "../policies/policies.ts";
import type { ReplayJobs } from "../policies/replay/jobs.ts";
import type { Rollouts } from "../policies/rollouts.ts";
import type { SharedReads } from "../shared-reads.ts";
import type { Browsers } from "../tenants/access/browser.ts";
import type { Keys } from "../tenants/access/keys.ts";
import type { MachineLogins } from "../tenants/access/machine-logins.ts";
import type { Principal } from "../tenants/access/principal.ts";
import type { Quota } from "../tenants/access/quota.ts";
import type { Audit } from "../tenants/audit/audit.ts";
import type { Deletions } from "../tenants/deletion/deletions.ts";
import type { Retention } from "../tenants/deletion/retention.ts";
import type { Passkeys } from "../tenants/people/passkeys.ts";
import type { People } from "../tenants/people/people.ts";
import type { Projects } from "../tenants/projects/projects.ts";
import type { Command } from "../write/journal/journal-entry.ts";
import type { Receipts } from "../write/receive/receipts.ts";

/** What procedures work with; made once by the composition root. */
export interface Services {
  prisma: PrismaClient;
  databaseUrl: string;
  databaseMode: "embedded" | "external";
  version: string;
  /** Where this server is reached, such as http://127.0.0.1:4180. */
  publicUrl: () => string;
  /** Of this server's TLS; absent without. */
  certificate?: (() => CertificateState) | undefined;
  receipts: Pick<Receipts, "of">;
  keys: Pick<Keys, "create" | "rotate" | "list" | "revoke">;
  browsers: Pick<Browsers, "list" | "signOut" | "signOutOthers">;
  machineLogins: Pick<MachineLogins, "look" | "decide">;
  people: Pick<People, "account" | "list" | "invite" | "makeLink" | "setRole" | "remove">;
  passkeys: Pick<Passkeys, "list" | "begin" | "add" | "remove">;
  projects: Projects;
  audit: Pick<Audit, "note">;
  createLoginUrl: () => Promise<string>;
  /** Has the projector do something; resolves once it is done. */
  command: (projectId: number, command: Command) => Promise<void>;
  freshness: FreshnessSource;
  policies: Pick<Policies, "bookOf" | "save">;
  mappings: Pick<Mappings, "list" | "save" | "remove">;
  rollouts: Pick<Rollouts, "read" | "change">;
  alerts: Pick<Alerts, "rules" | "silences" | "backtests" | "endpoints" | "deliveries">;
  sessionTags: Pick<SessionTags, "change">;
  sessionNotes: Pick<SessionNotes, "save">;
  sessionViews: Pick<SessionViews, "list" | "save" | "remove">;
  replays: Pick<ReplayJobs, "start" | "view" | "session" | "cancel">;
  /** Bounds the calls of each key. */
  reads: Pick<Quota, "take">;
  demo: Pick<Demo, "view" | "start" | "stop">;
  deletions: Deletions;
  retention: Retention;
  sharedReads: SharedReads;
  watch: Pick<DatabaseWatch, "failure" | "during">;
  clock: () => number;
}

export interface Context {
  /** Rejects with a PlimsollError when what was presented is wrong; undefined when nothing was. */
  principal: Promise<Principal | undefined>;
  services: Services;
  /** What the answer says beside its body. */
  response: { behind?: Behind };
}
