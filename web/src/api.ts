// Asking the daemon. Every failure says what happened and what to do, as the daemon worded it.

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

const PATIENCE_MS = 20_000;

export async function ask<T>(
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await raw(method, path, body);
  return (await response.json()) as T;
}

export async function askText(path: string): Promise<string> {
  return (await raw("GET", path)).text();
}

async function raw(method: string, path: string, body?: unknown): Promise<Response> {
  const request: RequestInit = {
    method,
    credentials: "same-origin",
    signal: AbortSignal.timeout(PATIENCE_MS),
  };
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers = { "content-type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(path, request);
  } catch {
    throw new Refused(0, "the daemon does not answer", "it may be restarting; run `sm status`");
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<Refused> {
  let error = `the daemon answered ${response.status}`;
  let hint = "";
  try {
    const told: unknown = await response.json();
    if (told !== null && typeof told === "object") {
      if ("error" in told && typeof told.error === "string") error = told.error;
      if ("hint" in told && typeof told.hint === "string") hint = told.hint;
    }
  } catch {
    // Not JSON: the status says it.
  }
  return new Refused(response.status, error, hint);
}

/// An id that makes a repeated request the same request.
export function freshId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const of = (session: string): string => `/sessions/${encodeURIComponent(session)}`;
