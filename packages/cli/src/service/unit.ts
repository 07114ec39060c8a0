/** What a service runs. */
export interface ServiceUnit {
  /** Such as `plimsoll-tail`. */
  name: string;
  description: string;
  /** The program and its arguments. */
  command: readonly string[];
  folder: string;
  /** File with the environment, which may hold secrets. */
  environmentFile: string;
  /** The only folder that the service may write to: PLIMSOLL_HOME. */
  writes: string;
  /** For every user of the machine, started at boot. Else for this one. */
  system: boolean;
  /** Of a system unit; root if absent. */
  user?: string | undefined;
}

/** The systemd of a user may drop no capability, and then starts nothing: 218/CAPABILITIES. */
const DROPS_CAPABILITIES = `PrivateDevices=yes
ProtectClock=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
`;

/** A unit of systemd. It restarts for as long as it is enabled, because a server may be away for days. */
export function systemdUnit(unit: ServiceUnit): string {
  const { description, command, folder, environmentFile, writes, system, user } = unit;
  return `# Written by: plimsoll service install
[Unit]
Description=${plain(description)}
${system ? "Wants=network-online.target\nAfter=network-online.target\n" : ""}StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${command.map(quoted).join(" ")}
WorkingDirectory=${plain(folder)}
EnvironmentFile=${plain(environmentFile)}
${user === undefined ? "" : `User=${plain(user)}\n`}Restart=always
RestartSec=30
TimeoutStopSec=20
MemoryMax=2G
UMask=0077
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ReadWritePaths=${quoted(writes)}
PrivateTmp=yes
${system ? DROPS_CAPABILITIES : ""}ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=${system ? "multi-user.target" : "default.target"}
`;
}

/** `%` begins a specifier. */
const plain = (text: string) => text.replaceAll("%", "%%");

/** A word of a command line or of a list of paths. `$` begins a variable. */
const quoted = (text: string) =>
  `"${plain(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("$", "$$$$")}"`;

/** An environment file of systemd. */
export const environmentText = (environment: Readonly<Record<string, string>>): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}="${value.replaceAll("\\", "\\\\").replace(/["$`]/g, "\\$&")}"\n`)
    .join("");

/** A launch agent of macOS. It has the environment itself, so only its owner may read it. */
export function launchAgent(
  { name, command, folder, writes }: ServiceUnit,
  environment: Readonly<Record<string, string>>,
): string {
  const strings = command.map((word) => `    <string>${xml(word)}</string>`).join("\n");
  const variables = Object.entries(environment)
    .map(([key, value]) => `    <key>${xml(key)}</key>\n    <string>${xml(value)}</string>`)
    .join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${xml(labelOf(name))}</string>
  <key>ProgramArguments</key>
  <array>
${strings}
  </array>
  <key>WorkingDirectory</key>
  <string>${xml(folder)}</string>
  <key>EnvironmentVariables</key>
  <dict>
${variables}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>30</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  <string>${xml(`${writes}/${name}.log`)}</string>
</dict>
</plist>
`;
}

/** The name of a launch agent. */
export const labelOf = (name: string): string => `dev.plimsoll.${name}`;

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const xml = (text: string) => text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);
