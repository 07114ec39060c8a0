/** The icon of the app with the number of open alerts on it, as a data URL. */
export function alarmIcon(firing: number): string {
  const count = firing > 9 ? "9+" : String(firing);
  return `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 22 22"><style>path,circle{stroke:#0f6f68}@media(prefers-color-scheme:dark){path,circle{stroke:#2dd4bf}}</style><circle cx="11" cy="11" r="7.5" fill="none" stroke-width="2.2"/><path d="M0 11h22" stroke-width="2.2"/><circle cx="14.5" cy="7.5" r="7.5" fill="#c5221f" style="stroke:none"/><text x="14.5" y="${count.length > 1 ? 11 : 11.6}" text-anchor="middle" font-family="sans-serif" font-weight="bold" font-size="${count.length > 1 ? 9.5 : 11.5}" fill="#fff">${count}</text></svg>`,
  )}`;
}
