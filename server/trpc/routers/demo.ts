import { DEMO_MINUTES, DemoView, StartDemoInput } from "@plimsoll/protocol/api";
import { z } from "zod";
import { procedure, router } from "../init.ts";
import { deleteDemo } from "./deletion.ts";

const none = z.object({}).optional();

/** The demo fleet. It runs a program on the server's machine, so it is for administrators alone. */
export const demo = router({
  delete: deleteDemo,

  get: procedure("administer")
    .input(none)
    .output(DemoView)
    .query(({ ctx }) => ctx.services.demo.view(ctx.principal.projectId)),

  start: procedure("administer")
    .input(StartDemoInput.default({ minutes: DEMO_MINUTES }))
    .output(DemoView)
    .mutation(async ({ ctx: { principal, services }, input: { minutes } }) => {
      await services.projects.requireOpen(principal.projectId);
      return services.demo.start(principal.projectId, minutes);
    }),

  stop: procedure("administer")
    .input(none)
    .output(DemoView)
    .mutation(({ ctx }) => ctx.services.demo.stop(ctx.principal.projectId)),
});
