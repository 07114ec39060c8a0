import { readFile } from "node:fs/promises";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { type AnthropicMessage, anthropicShape, guardMessages } from "@plimsoll/guard/anthropic";
import { Conversation } from "@plimsoll/guard/conversation";
import { Manager, orchestrate, type PhaseContext, type PhaseOutcome, ReadRefused } from "@plimsoll/runtime";
import { fileRunStore, writeAtomic } from "@plimsoll/runtime/node";
import { startScriptedModel } from "../../packages/guard/src/testing/scripted-model/index.ts";
import { type ExampleContext, isMain, makeProject, runExample, sleep } from "../example-support.ts";
import { makeApplication, runCheck } from "./project.ts";
import { runTool, script, TOOLS } from "./script.ts";

const MODEL = "claude-sonnet-5";
const WINDOW = 40_000;
/**
 * autopilot: an orchestrator that reads no details, and phase-runners that ask to be split when work is too large.
 */
export async function autopilot(context: ExampleContext) {
  const { folder, harness, reporter, say } = context;
  await makeProject(folder, 12);
  await makeApplication(folder);
  const model = await startScriptedModel(async (request) => {
    await sleep(context.paceMs);
    return script(request);
  });
  const client = new Anthropic({ baseURL: model.url, apiKey: "scripted" });

  /** One phase-runner, with its own window and guard. */
  async function runPhase(phase: PhaseContext): Promise<PhaseOutcome> {
    const issues = phase.issues.length > 0 ? [...phase.issues] : await openIssues(folder, phase.id);
    const reason = phase.tooLarge({ issues: issues.length, files: issues.length * 2 });
    if (reason !== undefined) {
      return {
        status: "split_request",
        subPhases: issues.map((issue) => ({
          name: issue,
          scope: `Fix "${issue}" and prove it`,
          issues: [issue],
          // Nobody can log out before the login works.
          ...(issue === "no logout" && { after: ["login fails"] }),
        })),
        // These change the same file, so one agent after the other works on it.
        groupings: { session: ["login fails", "no logout"], drafts: ["lost draft", "bad date"] },
        rationale: `${issues.length} issues over about ${issues.length * 2} files (${reason})`,
      };
    }
    const guard = new Conversation<AnthropicMessage>({
      identity: { harness, session: `autopilot:${context.run}`, agent: phase.id },
      shape: anthropicShape,
      model: MODEL,
      window: WINDOW,
      // A runner that needs a summary should have asked for a split.
      policy: { thresholds: { warning: null, ceiling: null, soft: "50%", hard: "90%" }, compact: null },
      // The phase reports turns, because it knows its place in the agent tree. The guard reports its actions.
      onEvent: (event) => event.type !== "turn" && reporter.record(event),
    });
    const guarded = guardMessages(client, guard);
    const task = issues.length > 0 ? `Fix: ${issues.join(", ")}` : `Do: ${phase.name}`;
    const findings = phase.findings === undefined ? "" : `\nThe first attempt failed: ${phase.findings}`;
    const messages: Anthropic.MessageParam[] = [
      { role: "user", content: `${task}\n${phase.scope}${findings}` },
    ];
    for (let turn = 0; turn < 30; turn++) {
      const answer = await guarded.messages.create({
        model: MODEL,
        max_tokens: 2_000,
        tools: TOOLS,
        messages,
      });
      phase.observe(answer);
      messages.push({ role: "assistant", content: answer.content });
      const results: Anthropic.ToolResultBlockParam[] = [];
      for (const block of answer.content) {
        if (block.type !== "tool_use") continue;
        const content = await runTool(folder, block.name, block.input);
        results.push({ type: "tool_result", tool_use_id: block.id, content });
      }
      if (results.length === 0)
        return { status: "completed", summary: `${phase.name}: done in ${turn + 1} turns` };
      messages.push({ role: "user", content: results });
    }
    return { status: "failed", summary: `${phase.name}: no end after 30 turns` };
  }

  const manager = new Manager({
    read: (path) => readFile(join(folder, path), "utf8"),
    promptTokens: 35_000,
  });
  try {
    const result = await orchestrate({
      run: `autopilot:${context.run}`,
      title: "Phases 18 to 20",
      harness,
      phases: [
        { id: "18", name: "Search", scope: "Make search faster" },
        { id: "19", name: "Export", scope: "Add an export" },
        { id: "20", name: "Fixes from acceptance tests" },
      ],
      runPhase,
      // Each part is verified by its own checks, which run the changed files. The score is the share of cases that pass.
      verify: async ({ name, issues }, { summary }) => {
        const checks = await Promise.all(
          (issues.length > 0 ? issues : [name]).map((one) => runCheck(folder, one)),
        );
        const failed = checks.flatMap((check) => check.failed);
        const score = checks.reduce((sum, check) => sum + check.score, 0) / checks.length;
        const passed = failed.length === 0;
        return { passed, score, summary: passed ? summary : failed.join(", ") };
      },
      store: fileRunStore(join(folder, ".autopilot", "state.json")),
      writeHandoff: (text) => writeAtomic(join(folder, ".autopilot", "HANDOFF.md"), text),
      manager,
      window: { tokens: 200_000 },
      runnerWindow: WINDOW,
      say,
      onEvent: reporter.record,
    });
    const refused = await manager.read("20-UAT.md").then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refused instanceof ReadRefused) say(refused.message);
    say(result.report);
    return result;
  } finally {
    await model.close();
  }
}

async function openIssues(folder: string, phase: string): Promise<string[]> {
  const report = await readFile(join(folder, `${phase}-UAT.md`), "utf8").catch(() => "");
  return [...report.matchAll(/^- \[ \] (.+)$/gm)].map((match) => match[1]!);
}

if (isMain("autopilot")) await runExample("autopilot", autopilot);
