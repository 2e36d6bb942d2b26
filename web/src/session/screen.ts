// An xterm on the daemon's stream. What was drawn is acknowledged, so that a slow page slows nobody
// down; what it could not keep up with, the daemon leaves out and sends the screen anew.

import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { ask, of } from "../api";
import { tell, tellFailure } from "../ui/parts";
import type { Phase } from "./terminal";

interface Told {
  type: string;
  cols?: number;
  rows?: number;
  reason?: string;
}

export interface Listener {
  phase: (phase: Phase, why: string) => void;
  taken: (taken: boolean) => void;
}

const LONGEST_WAIT_MS = 4000;
/// Nobody types more at once; a paste goes in pieces.
const MOST_KEYS = 8192;

export class Screen {
  private readonly terminal: Terminal;
  private readonly styles: Mirror;
  private readonly fit: ResizeObserver;
  private socket: WebSocket | null = null;
  private wait = 250;
  private timer = 0;
  private drawn = 0;
  private over = false;
  private isTaken = false;

  constructor(
    private readonly place: HTMLElement,
    private readonly session: string,
    private readonly listener: Listener,
  ) {
    this.terminal = new Terminal({
      convertEol: false,
      scrollback: 2000,
      disableStdin: true,
      cursorBlink: false,
      fontSize: 13,
      fontFamily: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
      screenReaderMode: false,
      linkHandler: { activate: () => {} },
      theme: { background: "#14181b", foreground: "#d9e0e3", cursor: "#7fd1b9" },
    });
    this.styles = new Mirror(place);
    withoutStyles(() => {
      this.terminal.open(place);
    });
    this.terminal.textarea?.setAttribute("aria-label", "Terminal input");
    if (this.terminal.textarea) this.terminal.textarea.readOnly = true;
    this.terminal.attachCustomKeyEventHandler((event) => this.isForAgent(event));
    this.terminal.onData((data) => {
      this.keys(data);
    });
    this.fit = new ResizeObserver(() => {
      this.scale();
    });
    this.fit.observe(place);
    this.connect();
  }

  takeOver(): void {
    this.say({ type: "takeover" });
  }

  release(): void {
    this.say({ type: "release" });
    this.setTaken(false);
  }

  /// The session lives again after its terminal had ended.
  again(): void {
    this.connect();
  }

  close(): void {
    this.over = true;
    clearTimeout(this.timer);
    this.fit.disconnect();
    this.hangUp();
    this.styles.stop();
    this.terminal.dispose();
  }

  private connect(): void {
    const url = `ws://${location.host}${of(this.session)}/terminal`;
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.drawn = 0;
    let ended = false;
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (typeof data === "string") {
        const told = JSON.parse(data) as Told;
        if (told.type === "ended") ended = true;
        this.told(told);
      } else this.draw(new Uint8Array(data), socket);
    };
    socket.onclose = ({ reason }) => {
      if (this.over || this.socket !== socket) return;
      this.setTaken(false);
      if (ended) return;
      this.listener.phase("gone", reason === "" ? "the connection broke off" : reason);
      this.timer = window.setTimeout(() => {
        this.connect();
      }, this.wait);
      this.wait = Math.min(this.wait * 2, LONGEST_WAIT_MS);
    };
  }

  private hangUp(): void {
    const socket = this.socket;
    // One that is still being opened is closed when it is: browsers call anything else a failure.
    if (socket?.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close();
    else socket?.close();
  }

  private told(told: Told): void {
    switch (told.type) {
      case "size":
        if (told.cols && told.rows) this.terminal.resize(told.cols, told.rows);
        this.wait = 250;
        this.terminal.reset();
        this.listener.phase("live", "");
        this.scale();
        break;
      case "resync":
        this.terminal.reset();
        break;
      case "taken":
        this.setTaken(true);
        this.terminal.focus();
        break;
      case "refused":
        tell("bad", "the terminal cannot be taken over", told.reason ?? "");
        break;
      case "not_typed":
        tell("bad", "the last keys did not reach the agent", told.reason ?? "");
        break;
      case "ended":
        this.setTaken(false);
        this.listener.phase("ended", "");
        // It had ended before anybody looked: the archive has what it showed.
        if (this.drawn === 0) void this.showLast();
        break;
    }
  }

  private async showLast(): Promise<void> {
    try {
      const told = await ask<{ text: string }>("GET", `${of(this.session)}/output?lines=200`);
      if (!this.over && this.drawn === 0) this.terminal.write(told.text.replaceAll("\n", "\r\n"));
    } catch (error) {
      if (!this.over) tellFailure(error);
    }
  }

  private draw(bytes: Uint8Array, socket: WebSocket): void {
    this.terminal.write(bytes, () => {
      if (this.over || this.socket !== socket) return;
      this.drawn += bytes.length;
      this.say({ type: "ack", bytes: this.drawn });
    });
  }

  /// While it is only looked at, keys are the page's: Tab goes on, Escape goes back. Once it is taken
  /// over all are the agent's but the one that gives it back.
  private isForAgent(event: KeyboardEvent): boolean {
    if (!this.isTaken) return false;
    if (event.key !== "Enter" || !event.ctrlKey || !event.shiftKey) return true;
    event.preventDefault();
    if (event.type === "keydown") this.release();
    return false;
  }

  private keys(data: string): void {
    // Answers of the emulator to questions of the program come here too: the real terminal answers.
    if (!this.isTaken) return;
    for (let at = 0; at < data.length; at += MOST_KEYS)
      this.say({ type: "keys", data: data.slice(at, at + MOST_KEYS) });
  }

  private setTaken(taken: boolean): void {
    this.isTaken = taken;
    this.terminal.options.disableStdin = !taken;
    if (this.terminal.textarea) this.terminal.textarea.readOnly = !taken;
    this.listener.taken(taken);
  }

  private say(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /// The size belongs to the agent's terminal: a narrow page shows it smaller, never wraps it.
  private scale(): void {
    const inside = this.place.querySelector<HTMLElement>(".xterm-screen");
    if (!inside || inside.offsetWidth === 0) return;
    const factor = Math.min(1, this.place.clientWidth / inside.offsetWidth);
    const terminal = this.terminal.element;
    if (!terminal) return;
    terminal.style.transformOrigin = "0 0";
    terminal.style.transform = factor < 1 ? `scale(${factor})` : "";
    this.place.style.height = `${Math.ceil(inside.offsetHeight * factor)}px`;
  }
}

/// The emulator writes its rules into style elements, which the page's policy forbids. It is given
/// elements that mean nothing to a browser instead, and their text is put into a sheet of ours.
const RULES = "sm-rules";

function withoutStyles(open: () => void): void {
  const make = document.createElement.bind(document);
  // An own property in front of the prototype's, for as long as it takes.
  document.createElement = ((tag: string) => make(tag === "style" ? RULES : tag)) as typeof make;
  try {
    open();
  } finally {
    Reflect.deleteProperty(document, "createElement");
  }
}

class Mirror {
  private readonly sheet = new CSSStyleSheet();
  private readonly observer: MutationObserver;

  constructor(private readonly place: HTMLElement) {
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
    this.observer = new MutationObserver((changes) => {
      if (changes.some((change) => this.isOfRules(change))) this.copy();
    });
    this.observer.observe(place, { subtree: true, childList: true, characterData: true });
  }

  stop(): void {
    this.observer.disconnect();
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== this.sheet);
  }

  private isOfRules(change: MutationRecord): boolean {
    const rules = (node: Node | null): boolean => node?.nodeName.toLowerCase() === RULES;
    return (
      rules(change.target) ||
      rules(change.target.parentNode) ||
      [...change.addedNodes].some((node) => rules(node))
    );
  }

  private copy(): void {
    const texts = [...this.place.querySelectorAll(RULES)].map((rules) => rules.textContent ?? "");
    this.sheet.replaceSync(texts.join("\n"));
  }
}
