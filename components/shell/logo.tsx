/** @jsxImportSource #jsx */
/** The Plimsoll mark: a circle crossed by a line. */
export function Logo({ className }: { className?: string }) {
  return (
    <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" className={className}>
      <circle cx="11" cy="11" r="7.5" fill="none" stroke="currentColor" strokeWidth="1.8" />
      <path d="M0 11h22" stroke="currentColor" strokeWidth="1.8" />
    </svg>
  );
}
