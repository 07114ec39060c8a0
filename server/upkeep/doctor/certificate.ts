import type { CertificateState } from "../../certificate.ts";
import { DAY_MS } from "../../times.ts";
import type { Check } from "./check.ts";

/** Those who renew by themselves do so a month before, so two weeks are late. */
const LATE_MS = 14 * DAY_MS;

export interface ExaminedCertificate extends CertificateState {
  /** The time of the examination, epoch ms. */
  now: number;
}

/** Whether the TLS certificate of this server is the one in its files, and goes on being good. */
export const certificateCheck: Check = {
  name: "the TLS certificate can be used",
  units: undefined,
  weight: 1,
  size: 1,
  maxSize: 1,
  async step({ certificate }) {
    const faults = certificate === undefined ? [] : certificateFaults(certificate);
    const message =
      certificate === undefined
        ? "This server speaks no TLS itself."
        : `It expires on ${dayOf(certificate)}.`;
    return { examined: 0, faults, next: undefined, message };
  },
};

export function certificateFaults(state: ExaminedCertificate): string[] {
  const { expiresAt, fault, now } = state;
  const faults =
    fault === undefined ? [] : [`the files cannot be used, so an older certificate is: ${fault}`];
  if (expiresAt <= now) faults.push(`it expired on ${dayOf(state)}`);
  else if (expiresAt - now < LATE_MS) faults.push(`it expires on ${dayOf(state)}: renew it`);
  return faults;
}

const dayOf = ({ expiresAt }: CertificateState) => new Date(expiresAt).toISOString().slice(0, 10);
