/** @jsxImportSource #jsx */
"use client";

import type { HeldToolView, WindowContentsView } from "@plimsoll/protocol/api";
import { callersText, recentCallsText, toolName, toolRows } from "../contents-words.ts";
import { compact, exact, percent } from "../format.ts";
import { cn } from "../ui/cn.ts";
import { Name } from "../ui/name.tsx";
import { InsightPanel } from "./insight-panel.tsx";

interface Props {
  /** Undefined while loading. */
  contents: WindowContentsView | undefined;
  /** Why it failed to load; null if it did not. */
  error: unknown;
  retry: () => void;
}

const HINT =
  "What the calls of each tool and their results take in the windows of the range, as the latest turn of each agent reports it. An estimate from recordings, from the guard, or from prompts in OpenTelemetry spans. Calls in 30 days include those that a compaction removed; recordings and records of tool calls name their tools.";

/** Which MCP servers and tools take how much of the windows. */
export function ToolsPanel({ contents, error, retry }: Props) {
  return (
    <InsightPanel
      {...{ title: "What tools take", id: "tools", hint: HINT, what: "the tools" }}
      data={contents}
      {...{ error, retry }}
    >
      {(data) =>
        data.tools.length === 0 ? (
          <p className="mt-1 text-[13px] text-muted">
            No source in this range reports what fills windows. Recordings of Claude Code, Codex and others
            do, and so do the guard and spans of OpenTelemetry that have the prompt of their call.
          </p>
        ) : (
          <Tools contents={data} />
        )
      }
    </InsightPanel>
  );
}

const HEAD = ["Windows", "Calls in them", "Calls in 30 days", "Tokens", "Share"];
/** A phone has no room for these. */
const ROOMY = new Set(["Windows", "Calls in them", "Tokens"]);

function Tools({ contents }: { contents: WindowContentsView }) {
  const { tools, complete } = contents;
  return (
    <>
      {!complete && (
        <p className="mt-1 text-[13px] text-muted">
          Only the latest 5,000 windows of the range were looked at.
        </p>
      )}
      <table aria-label="What tools take" className="mt-2 w-full table-fixed text-[13px]">
        <thead className="text-xs text-faint">
          <tr>
            <th scope="col" className="w-[50%] @min-[560px]:w-[34%]">
              <span className="sr-only">Server or tool</span>
            </th>
            {HEAD.map((name) => (
              <th
                key={name}
                scope="col"
                className={cn("py-1 text-right font-normal", ROOMY.has(name) && "@max-[560px]:hidden")}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {toolRows(tools).flatMap(({ of, tools: own }) => [
            <Row key={JSON.stringify([of.harness, of.server, of.tool])} row={of} isOfServer={false} />,
            ...own.map((tool) => (
              <Row key={JSON.stringify([tool.harness, tool.server, tool.tool])} row={tool} isOfServer />
            )),
          ])}
        </tbody>
      </table>
      {callersText(contents).map((text) => (
        <p key={text} className="mt-2 text-xs text-muted">
          {text}
        </p>
      ))}
    </>
  );
}

function Row({ row, isOfServer }: { row: HeldToolView; isOfServer: boolean }) {
  const { harness, server, tool, windows, of_windows: all, calls, tokens, share } = row;
  const name =
    tool === null
      ? `MCP server ${server}`
      : isOfServer
        ? tool.slice(`mcp__${server}__`.length)
        : toolName(tool);
  const cells = [
    `${exact(windows)} of ${exact(all)}`,
    calls === 0 ? "none" : exact(calls),
    recentCallsText(row),
    compact(tokens),
    percent(share),
  ];
  return (
    <tr className={cn("border-t", isOfServer && "border-t-0 text-muted")}>
      <th scope="row" className={cn("py-1.5 pr-2 text-left font-normal", isOfServer && "py-0.5 pl-4")}>
        <span className="block truncate" title={`${name}, ${harness}`}>
          <Name>{name}</Name>
          {!isOfServer && <span className="text-muted"> · {harness}</span>}
        </span>
      </th>
      {cells.map((text, index) => (
        <td
          key={HEAD[index]}
          className={cn(
            "text-right",
            isOfServer ? "py-0.5" : "py-1.5",
            ROOMY.has(HEAD[index]!) && "@max-[560px]:hidden",
          )}
        >
          {text}
        </td>
      ))}
    </tr>
  );
}
