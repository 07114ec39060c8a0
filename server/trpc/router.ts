import { router } from "./init.ts";
import { account, audit, browsers, machines, passkeys, people } from "./routers/account.ts";
import { alerts } from "./routers/alerts.ts";
import { harness, retention } from "./routers/deletion.ts";
import { demo } from "./routers/demo.ts";
import {
  beforeAfter,
  breakdown,
  contents,
  digest,
  extent,
  falls,
  fleet,
  fleetPart,
  harnesses,
  harnessLines,
  marks,
  quality,
  quota,
  rebuilds,
  series,
  spending,
  status,
} from "./routers/fleet.ts";
import { mappings } from "./routers/mappings.ts";
import { policies } from "./routers/policies.ts";
import { projects } from "./routers/projects.ts";
import { replays } from "./routers/replays.ts";
import { sessions } from "./routers/sessions.ts";
import { doctor, ingest, instance, keys, login, windows } from "./routers/setup.ts";

export const appRouter = router({
  status,
  fleet,
  fleetPart,
  series,
  extent,
  marks,
  beforeAfter,
  digest,
  harnesses,
  harnessLines,
  harness,
  breakdown,
  contents,
  falls,
  quality,
  quota,
  rebuilds,
  spending,
  sessions,
  projects,
  policies,
  replays,
  alerts,
  keys,
  browsers,
  machines,
  account,
  people,
  passkeys,
  audit,
  windows,
  mappings,
  retention,
  ingest,
  doctor,
  login,
  instance,
  demo,
});

export type AppRouter = typeof appRouter;
