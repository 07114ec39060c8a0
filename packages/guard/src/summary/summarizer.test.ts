import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fit } from "../fit.ts";
import { CEILING_ONLY, longTalk, testGuard } from "../testing/test-guard.ts";
import { type Message, plainShape } from "../view/shape.ts";
import { transcriptOf } from "./prompt.ts";
import { modelSummarizer, summaryText, type TextRequest } from "./summarizer.ts";

describe("the guard's own summariser", () => {
  it("asks the model with a prompt, a bounded input and a limit to its answer", async () => {
    const { guard } = testGuard({ policy: CEILING_ONLY });
    const asked: TextRequest[] = [];
    const { messages } = await fit(guard, longTalk(12), {
      summaryModel: async (request) => {
        asked.push(request);
        return '```json\n{"goal": "Answer all", "done": ["question 0", "question 1"], "open": []}\n```';
      },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]!.system).toContain("one JSON object");
    expect(asked[0]!.prompt).toMatch(/^<conversation>\nuser: question 0 /);
    expect(asked[0]!.maxTokens).toBe(1_000);
    expect(asked[0]!.signal.aborted).toBe(false);
    expect(messages[0]!.content).toContain("Goal: Answer all\nDone:\n- question 0\n- question 1\n");
  });

  it("merges an earlier summary instead of nesting it", async () => {
    const { guard } = testGuard({ policy: CEILING_ONLY });
    const prompts: string[] = [];
    const summaryModel = async ({ prompt }: TextRequest) => {
      prompts.push(prompt);
      return JSON.stringify({ goal: `state ${prompts.length}` });
    };
    const history = longTalk(12);
    await fit(guard, history, { summaryModel });
    history.push(...longTalk(12));
    const { messages } = await fit(guard, history, { summaryModel });
    expect(prompts[1]).toContain("Goal: state 1");
    expect(messages[0]!.content.match(/Goal: /g)).toHaveLength(1);
    expect(messages[0]!.content).toContain("Goal: state 2");
  });

  it("reads a long conversation only in part, and long results shortened", () => {
    const result: Message = { role: "tool", content: "r".repeat(50_000), toolCallId: "c", toolName: "read" };
    expect(transcriptOf([result], plainShape, 100_000).length).toBeLessThan(1_300);
    const long = transcriptOf(longTalk(400), plainShape, 20_000);
    expect(long).toHaveLength(20_000);
    expect(long).toMatch(/^user: question 0/);
    expect(long).toContain("answer 399");
    expect(long).toMatch(/\[\d+ characters left out\]/);
  });

  it.each([
    ["The user wants tea.", "The user wants tea."],
    ["", ""],
    ["{}", "{}"],
    ['{"goal": 7, "done": "x"}', "Done: x"],
    ['Here it is: {"findings": ["port 4747", 3, " "]} Anything else?', "Findings:\n- port 4747"],
    ['{"goal": "cut off', '{"goal": "cut off'],
    ["[1, 2]", "[1, 2]"],
  ])("takes the answer %j", (answer, summary) => {
    expect(summaryText(answer)).toBe(summary);
  });

  it("never writes more than it may, whatever the model answers", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string({ maxLength: 2_000 }), fc.json()),
        fc.nat({ max: 500 }),
        async (answer, more) => {
          const maxChars = 100 + more;
          const summarise = modelSummarizer(plainShape, async () => answer);
          const { signal } = new AbortController();
          expect((await summarise({ messages: longTalk(1), maxChars, signal })).length).toBeLessThanOrEqual(
            maxChars,
          );
        },
      ),
    );
  });
});

describe("without a summariser", () => {
  it("no summary is asked for, and a warning says how to have them", async () => {
    const warnings: string[] = [];
    const { guard } = testGuard({ policy: CEILING_ONLY, onWarning: (text) => void warnings.push(text) });
    const { actions, messages } = await fit(guard, longTalk(12));
    expect(actions).toEqual([]);
    expect(messages).toHaveLength(24);
    expect(warnings).toEqual([expect.stringContaining("Pass summarize or summaryModel to fit")]);
  });

  it("nothing is told to a harness that switched summaries off", async () => {
    const warnings: string[] = [];
    const onWarning = (text: string) => void warnings.push(text);
    const { guard } = testGuard({ policy: { ...CEILING_ONLY, compact: null }, onWarning });
    await fit(guard, longTalk(12));
    expect(warnings).toEqual([]);
  });
});
