import { expect, it } from "vitest";
import { browserCommands } from "./start-server.ts";

it("opens the browser of the system, and in WSL that of Windows", () => {
  expect(browserCommands("darwin", {})).toEqual([["open"]]);
  expect(browserCommands("linux", {})).toEqual([["xdg-open"]]);
  expect(browserCommands("linux", { WSL_DISTRO_NAME: "Debian" }).map(([name]) => name)).toEqual([
    "wslview",
    "rundll32.exe",
    "xdg-open",
  ]);
  for (const [name] of browserCommands("win32", {})) expect(name).not.toMatch(/cmd/);
});
