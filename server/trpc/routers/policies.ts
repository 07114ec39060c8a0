import {
  ChangeRolloutCall,
  PolicyEffects,
  PolicyGenerationQuery,
  PolicyHarnessList,
  PolicyVersionDetail,
  PolicyVersionPage,
  PolicyVersionsQuery,
  RejudgingView,
  RollbackPolicyCall,
  RolloutAnswer,
  SavePolicyCall,
  WholePolicy,
} from "@plimsoll/protocol/api";
import { z } from "zod";
import { readCeilingEffects } from "../../policies/read-effects.ts";
import { readPolicyHarnesses } from "../../policies/read-harnesses.ts";
import { readRejudging } from "../../policies/read-rejudging.ts";
import { readPolicyVersion, readPolicyVersions } from "../../policies/read-versions.ts";
import { actorOf } from "../../tenants/access/principal.ts";
import { answer, freshProcedure, procedure, restRoutes, router } from "../init.ts";

const rest = restRoutes("policies");

export const policies = router({
  /** The newest version, also when it is not offered to all yet. */
  get: procedure("read")
    .input(z.object({}).optional())
    .output(WholePolicy)
    .query(({ ctx }) => ctx.reader.policy.whole()),

  versions: procedure("read")
    .meta(rest("GET", "/policy/versions", "Saved policies, newest first"))
    .input(PolicyVersionsQuery)
    .output(PolicyVersionPage)
    .query(({ ctx, input }) => readPolicyVersions(ctx.reader, input)),

  version: procedure("read")
    .meta(rest("GET", "/policy/versions/{generation}", "A saved policy"))
    .input(PolicyGenerationQuery)
    .output(PolicyVersionDetail)
    .query(({ ctx, input }) => readPolicyVersion(ctx.reader, input.generation)),

  effects: freshProcedure("read")
    .meta(rest("GET", "/policy/effects", "What the latest change of ceilings did to failed calls"))
    .input(z.object({}).optional())
    .output(PolicyEffects)
    .query(({ ctx }) => readCeilingEffects(ctx.reader)),

  harnesses: freshProcedure("read")
    .meta(rest("GET", "/policy/harnesses", "How far each harness is with the policy that it is offered"))
    .input(z.object({}).optional())
    .output(answer(PolicyHarnessList))
    .query(({ ctx }) => readPolicyHarnesses(ctx.reader)),

  save: procedure("change policies")
    .input(SavePolicyCall)
    .output(WholePolicy)
    .mutation(
      async ({ ctx: { principal, services }, input: { policy, expected, reason, from, rollout } }) => {
        const { projectId } = principal;
        const actor = actorOf(principal);
        // A share is one of all harnesses that have reported until now.
        if (rollout !== undefined) await services.freshness.wait(projectId);
        await services.policies.save({
          projectId,
          body: policy,
          expected,
          reason,
          actor,
          ...(from && { from }),
          ...(rollout && { rollout }),
        });
        return (await services.policies.bookOf(projectId)).whole();
      },
    ),

  rollback: procedure("change policies")
    .input(RollbackPolicyCall)
    .output(WholePolicy)
    .mutation(async ({ ctx: { principal, reader, services }, input: { generation, expected, reason } }) => {
      const { projectId } = principal;
      const { policy, text } = await readPolicyVersion(reader, generation);
      await services.policies.save({
        projectId,
        body: text ?? policy,
        expected,
        reason,
        actor: actorOf(principal),
        restores: generation,
      });
      return (await services.policies.bookOf(projectId)).whole();
    }),

  rejudging: freshProcedure("read")
    .meta(
      rest(
        "GET",
        "/policy/rejudging",
        "How many agents are still to be judged again by a policy that counts for history",
      ),
    )
    .input(z.object({}).optional())
    .output(answer(RejudgingView))
    .query(({ ctx: { reader } }) => readRejudging(reader)),

  rollout: freshProcedure("read")
    .meta(
      rest("GET", "/policy/rollout", "The newest rollout in stages: how far it is, and what it waits for"),
    )
    .input(z.object({}).optional())
    .output(answer(RolloutAnswer))
    .query(async ({ ctx: { principal, services } }) => ({
      rollout: (await services.rollouts.read(principal.projectId)) ?? null,
    })),

  changeRollout: procedure("change policies")
    .meta(
      rest("POST", "/policy/rollout", "Advances, halts or resumes a rollout, or offers it to the next set"),
    )
    .input(ChangeRolloutCall)
    .output(RolloutAnswer)
    .mutation(async ({ ctx: { principal, services }, input }) => ({
      rollout: await services.rollouts.change(principal.projectId, input, actorOf(principal)),
    })),
});
