import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { type AnthropicMessage, anthropicShape, guardMessages } from "@plimsoll/guard/anthropic";
import { Conversation } from "@plimsoll/guard/conversation";
import { type ModelRequest, startScriptedModel } from "@plimsoll/guard/scripted-model";
import { Manager, orchestrate, type PhaseContext, type PhaseOutcome, ReadRefused } from "@plimsoll/runtime";
import { fileRunStore, writeAtomic } from "@plimsoll/runtime/node";
import { type ExampleContext, isMain, makeProject, runExample, sleep } from "../example-support.ts";

const MODEL = "claude-sonnet-5";
const WINDOW = 40_000;
const ISSUES = ["login fails", "no logout", "slow list", "bad date", "lost draft", "wrong total"];
const TOOLS: Anthropic.Tool[] = [
  { name: "read_file", input_schema: { type: "object", properties: { path: { type: "string" } } } },
  {
    name: "fix",
    input_schema: { type: "object", properties: { issue: { type: "string" }, text: { type: "string" } } },
  },
];

/**
 * autopilot: an orchestrator that reads no details, and phase-runners that ask to be split when work is too large.
 */
export async function autopilot(context: ExampleContext) {
  const { folder, harness, reporter, say } = context;
  await makeProject(folder, 12);
  await mkdir(join(folder, "fixed"), { recursive: true });
  await writeFile(
    join(folder, "20-UAT.md"),
    ISSUES.map((issue) => `- [ ] ${issue}\n${"  seen by a tester, steps follow\n".repeat(30)}`).join("\n"),
  );
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
        })),
        // These touch the same files, so one agent after the other works on them.
        groupings: { session: ["login fails", "no logout"], drafts: ["lost draft", "bad date"] },
        rationale: `${issues.length} issues over about ${issues.length * 2} files (${reason})`,
      };
    }
    const guard = new Conversation<AnthropicMessage>({
      identity: { harness, session: `autopilot:${context.run}`, agent: phase.id },
      shape: anthropicShape,
      model: MODEL,
      window: WINDOW,
      policy: { thresholds: { warning: null, ceiling: null, soft: "50%", hard: "90%" } },
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
        const input = block.input as { path?: string; issue?: string; text?: string };
        const content =
          input.path !== undefined
            ? await readFile(join(folder, input.path), "utf8")
            : await fix(folder, input.issue!, input.text!);
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
      // Verify each part: the fix on disk must be complete. The score is the share of the issues that are fixed.
      verify: async (phase, { summary }) => {
        const left: string[] = [];
        for (const issue of phase.issues) {
          const text = await readFile(fixPath(folder, issue), "utf8").catch(() => "");
          if (!text.includes(`fixed: ${issue}`)) left.push(issue);
        }
        const passed = left.length === 0;
        const score = 10 * (1 - left.length / Math.max(1, phase.issues.length));
        return { passed, score, summary: passed ? summary : `not fixed: ${left.join(", ")}` };
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

const fixPath = (folder: string, issue: string) => join(folder, "fixed", `${issue.replaceAll(" ", "-")}.txt`);

async function fix(folder: string, issue: string, text: string): Promise<string> {
  await writeFile(fixPath(folder, issue), `${text}\n`);
  return "written";
}

/**
 * Scripts the model: it reads some modules, fixes its issue, and reports that it is done. One fix is incomplete at first, so
 * that its verification fails and the phase is remediated.
 */
function script({ messages, body }: ModelRequest) {
  const calls = messages.filter((message) => message.role === "assistant").length;
  const task = JSON.stringify(messages[0]!.content);
  const issue = /Fix: ([a-z ]+)/.exec(task)?.[1];
  const reads = 4 + (task.length % 5);
  if (calls < reads) {
    return {
      text: "Reading.",
      calls: [{ name: "read_file", arguments: { path: `src/module-${((calls * 5) % 12) + 1}.ts` } }],
    };
  }
  if (issue !== undefined && calls === reads) {
    const incomplete = issue === "bad date" && !task.includes("The first attempt failed");
    const text = incomplete ? `started: ${issue}` : `fixed: ${issue}`;
    return { calls: [{ name: "fix", arguments: { issue, text } }] };
  }
  return { text: `Done with ${String(body.model)}.` };
}

if (isMain("autopilot")) await runExample("autopilot", autopilot);
