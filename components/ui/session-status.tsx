/** @jsxImportSource #jsx */
import type { SessionStatus } from "@plimsoll/protocol/api";

const LOOKS: Readonly<Record<SessionStatus, string>> = {
  live: "bg-ok",
  idle: "border-[1.5px] border-faint",
  ended: "bg-edge",
};

export function SessionStatusLabel({ status, reason }: { status: SessionStatus; reason: string | null }) {
  return (
    <span
      className="inline-flex items-center gap-1.5"
      title={reason === null ? undefined : `Ended: ${reason}`}
      data-status={status}
    >
      <span aria-hidden className={`size-[7px] rounded-full ${LOOKS[status]}`} />
      {status}
    </span>
  );
}
