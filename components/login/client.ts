import type { LoginAnswer, SignInWays } from "@plimsoll/protocol/api";
import { type LoginFailure, logIn, logInWithPasskey } from "./log-in.ts";
import { rememberRequestedPath, takeRequestedPath } from "./requested-page.ts";
import { safeRedirect } from "./safe-redirect.ts";

// The script of the login page, which loads nothing else. Its parts are in page.ts.

type Step = "checking" | "no-token" | "refused" | "failed";

/** Milliseconds for which a copied text is confirmed. */
const CONFIRMED_MS = 1_600;

const next = new URLSearchParams(window.location.search).get("next");

/** The theme that the pages remember. */
function applyTheme(): void {
  let theme: string | null = null;
  try {
    theme = window.localStorage.getItem("theme");
  } catch {
    // Without local storage, the system decides.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}

/** Shows one part of the page and hides the others. */
function show(step: Step, message?: string): void {
  for (const part of document.querySelectorAll<HTMLElement>("[data-step]"))
    part.hidden = !part.dataset.step!.split(" ").includes(step);
  for (const alert of document.querySelectorAll<HTMLElement>("[data-step] [role=alert]"))
    alert.textContent = message ?? "";
}

/** Logs in with the token in the URL fragment, which browsers never send to a server. */
async function read(): Promise<void> {
  const token = window.location.hash.slice(1);
  if (token === "") {
    rememberRequestedPath(safeRedirect(next));
    show("no-token");
    return;
  }
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  show("checking");
  const answer = await logIn({ token });
  if (isFailure(answer)) show(answer.step, answer.message);
  // Who came with a link of their own needs a passkey to come back.
  else goOn(answer.person ? "/account" : "/");
}

const isFailure = (answer: LoginAnswer | LoginFailure): answer is LoginFailure => "step" in answer;

/** @param otherwise the page to open if none was asked for */
function goOn(otherwise = "/"): void {
  const requested = next === null ? takeRequestedPath() : safeRedirect(next);
  window.location.replace(requested === "/" ? otherwise : requested);
}

/** Shows the way to the identity provider and the form for the access token, if the server has them. */
async function offerSignIn(form: HTMLFormElement): Promise<void> {
  const response = await fetch("/api/v1/sign-in").catch(() => undefined);
  const ways = (await response?.json().catch(() => undefined)) as SignInWays | undefined;
  const provider = ways?.identity_provider;
  if (provider) {
    const link = document.querySelector<HTMLAnchorElement>("#provider")!;
    link.textContent = `Sign in with ${provider}`;
    link.href = `/api/v1/sign-in/start?next=${encodeURIComponent(safeRedirect(next))}`;
    link.parentElement!.hidden = false;
  }
  const passkey = document.querySelector<HTMLButtonElement>("#passkey")!;
  if (ways?.passkeys && window.PublicKeyCredential?.parseRequestOptionsFromJSON !== undefined) {
    passkey.parentElement!.hidden = false;
    passkey.addEventListener("click", () => void usePasskey(passkey));
  }
  if (provider || ways?.passkeys) {
    document.getElementById("no-token")!.textContent = "Or open a link";
    document.getElementById("no-token-text")!.textContent =
      "An administrator of this server can make one for you. It works once.";
  }
  if (ways?.access_token !== true) return;
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit(form);
  });
}

async function submit(form: HTMLFormElement): Promise<void> {
  const input = form.querySelector("input")!;
  const button = form.querySelector("button")!;
  button.disabled = true;
  const answer = await logIn({ access_token: input.value });
  button.disabled = false;
  if (!isFailure(answer)) return goOn();
  document.getElementById("access-error")!.textContent = answer.message;
  input.select();
}

async function usePasskey(button: HTMLButtonElement): Promise<void> {
  const error = document.getElementById("passkey-error")!;
  error.textContent = "";
  button.disabled = true;
  const answer = await logInWithPasskey();
  button.disabled = false;
  if (!isFailure(answer)) return goOn();
  error.textContent = answer.message;
}

function copyCommand(button: HTMLElement, command: HTMLElement): void {
  const label = button.textContent;
  const tell = (text: string) => {
    button.textContent = text;
    setTimeout(() => {
      button.textContent = label;
    }, CONFIRMED_MS);
  };
  const select = () => {
    // Plain HTTP has no clipboard.
    window.getSelection()?.selectAllChildren(command);
    tell("Press Ctrl+C");
  };
  if (navigator.clipboard === undefined) select();
  else navigator.clipboard.writeText(command.textContent ?? "").then(() => tell("Copied"), select);
}

applyTheme();
document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("copy")!;
  button.addEventListener("click", () => copyCommand(button, document.getElementById("command")!));
  // Pasting the link into a tab that shows this page changes only the fragment.
  window.addEventListener("hashchange", () => {
    if (window.location.hash !== "") void read();
  });
  void read();
  void offerSignIn(document.querySelector("form")!);
});
