// A browser on a daemon of its own. The Rust test that starts a scenario has made the world: `sm` in
// SM_PROGRAM and an environment in which it finds nothing of the real user's.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const sm = process.env.SM_PROGRAM;
export const shots = process.env.SM_SHOTS;

/// What `sm` prints. Fails with what it said.
export function run(...args) {
  return execFileSync(sm, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

export function json(...args) {
  return JSON.parse(run(...args, "--json"));
}

export function runGiven(input, ...args) {
  const ran = spawnSync(sm, args, { encoding: "utf8", input });
  if (ran.status !== 0) throw new Error(`sm ${args.join(" ")}: ${ran.stderr}`);
  return ran.stdout;
}

/// A fake agent that is idle.
export function agent(name, ...more) {
  run("new", "claude", "--name", name, "--detach", ...more);
  return json("wait", name, "--for", "idle", "--timeout", "60");
}

export function link() {
  const line = run("open", "--print")
    .split(/\s+/)
    .find((word) => word.startsWith("http://"));
  if (!line) throw new Error("sm open --print gave no link");
  return line;
}

export function tcp() {
  run("ls"); // starts the daemon where there is none
  return `http://${json("status").address}`;
}

/// Asks the daemon as a program does: the `fetch` of Node has the marks of a browser.
export function asProgram(method, path, body, more = {}) {
  const { hostname, port } = new URL(tcp());
  return asked(hostname, port, method, path, body, more);
}

/// How full a session's context is, as its agent's own status line tells it.
export function reports(name, percent) {
  const { id, pid } = json("show", name);
  const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  const secret = environment.find((entry) => entry.startsWith("SM_SESSION_SECRET="))?.split("=")[1];
  return asProgram("POST", "/hooks/context-usage", usage(id, percent), { "x-sm-secret": secret ?? "" });
}

export function asked(host, port, method, path, body, more = {}) {
  const text = JSON.stringify(body);
  return new Promise((done, failed) => {
    const sent = request(
      {
        host,
        port,
        method,
        path,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(text), ...more },
      },
      (answer) => {
        answer.resume();
        answer.on("end", () => done(answer.statusCode));
      },
    );
    sent.on("error", failed);
    sent.end(text);
  });
}

export function usage(session, percent) {
  return {
    session_id: session,
    used_percentage: percent,
    total_input_tokens: percent * 2000,
    context_window_size: 200_000,
  };
}

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/// Runs a scenario in a browser; everything the page complains about is a failure.
export async function scenario(body) {
  const profile = mkdtempSync(join(tmpdir(), "sm-browser-"));
  const browser = await chromium.launch({
    executablePath: process.env.SM_CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
    env: { ...process.env, HOME: profile },
  });
  const complaints = [];
  let page;
  try {
    page = await signedOut(browser, complaints);
    await body({ browser, page, complaints });
    const bad = complaints.filter((text) => !expected(text));
    if (bad.length > 0) throw new Error(`the page complained:\n${bad.join("\n")}`);
  } catch (error) {
    // what a person would have seen then
    console.log(`${page?.url()}\n${await page?.locator("body").innerText()}\n${complaints.join("\n")}`);
    throw error;
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  }
  console.log("passed");
}

const allowed = [];
/// A complaint of the browser that belongs to the scenario.
export function expect(pattern) {
  allowed.push(pattern);
}
function expected(text) {
  return allowed.some((pattern) => pattern.test(text));
}

export async function signedOut(browser, complaints, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(`${error.message}\n${error.stack ?? ""}`));
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (hostname !== "127.0.0.1" && protocol !== "data:") complaints.push(`a request left: ${request.url()}`);
  });
  return page;
}

export async function signIn(page) {
  await page.goto(link());
  await page.getByRole("status").getByText("live", { exact: true }).waitFor();
}

export function row(page, name) {
  return page.locator("a[data-session]", { has: page.locator(".name", { hasText: new RegExp(`^${name}$`) }) });
}

export function equal(found, wanted, what) {
  const a = JSON.stringify(found);
  const b = JSON.stringify(wanted);
  if (a !== b) throw new Error(`${what}: found ${a}, wanted ${b}`);
}

export function yes(found, what) {
  if (!found) throw new Error(what);
}

/// Asks until it is so: evidence, with a deadline.
export async function eventually(what, ask) {
  const until = Date.now() + 60_000;
  let last;
  while (Date.now() < until) {
    last = await ask();
    if (last) return last;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`never: ${what}`);
}

export async function shot(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`) });
}
