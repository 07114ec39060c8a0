import {
  DEMO_HARNESSES,
  DEMO_MINUTES,
  DeleteDemoInput,
  DeletionView,
  DemoView,
  StartDemoInput,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { actorOf, type Principal } from "../../tenants/access/principal.ts";
import type { Services } from "../context.ts";
import { procedure, router } from "../init.ts";
import { by } from "./deletion.ts";

const none = z.object({}).optional();

/** The demo fleet. It runs a program on the server's machine, so it is for administrators alone. */
export const demo = router({
  get: procedure("administer")
    .input(none)
    .output(DemoView)
    .query(({ ctx }) => ctx.services.demo.view(ctx.principal.projectId)),

  start: procedure("administer")
    .input(StartDemoInput.default({ minutes: DEMO_MINUTES }))
    .output(DemoView)
    .mutation(async ({ ctx: { principal, services }, input: { minutes } }) => {
      const { projectId } = principal;
      await services.projects.requireOpen(projectId);
      const view = services.demo.start(projectId, minutes);
      const detail = `for ${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
      await services.audit.note({ actor: actorOf(principal), action: "demo_started", projectId, detail });
      return view;
    }),

  stop: procedure("administer")
    .input(none)
    .output(DemoView)
    .mutation(({ ctx: { principal, services } }) => stop(services, principal)),

  /** Stops the demo fleet first, because a running one would add its sessions again. */
  delete: procedure("delete")
    .input(DeleteDemoInput)
    .output(DeletionView)
    .mutation(async ({ ctx: { principal, services }, input }) => {
      if (!input.dry_run) await stop(services, principal);
      return services.deletions.deleteHarnesses(DEMO_HARNESSES, by(principal, input.dry_run));
    }),
});

async function stop({ demo, audit }: Services, principal: Principal): Promise<DemoView> {
  const { projectId } = principal;
  const { state } = demo.view(projectId);
  const view = await demo.stop(projectId);
  if (state === "starting" || state === "running")
    await audit.note({ actor: actorOf(principal), action: "demo_stopped", projectId });
  return view;
}
