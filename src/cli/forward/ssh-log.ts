/**
 * What `ssh -v` writes of one connection: the host key that it verified, and what went wrong.
 *
 * Invariant: the file is bounded, whatever comes by. A jump host's own process writes elsewhere.
 */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';

/** Lines of ssh's that a refusal repeats. */
export const maxLines = 5;

/**
 * The line that shows the host's own key. Where the host shows a certificate, the line has its own key too: ssh
 * verifies that one by the authority, or else by itself.
 */
const hostKeyLine =
  /^debug1: Server host (?:key: \S+ (SHA256:[\w+/]{43})\s*$|certificate: \S+ (SHA256:[\w+/]{43}), )/;

export class SshLog {
  readonly file: string;
  readonly #emptying: NodeJS.Timeout;

  constructor(file: string) {
    this.file = file;
    writeFileSync(file, '', { mode: 0o600 });
    // ssh writes a few lines for each connection that comes by.
    this.#emptying = setInterval(() => this.#emptyIfLong(), lookEvery).unref();
  }

  hostKey(): string | undefined {
    // The first such line: what a host says of itself, before it appears in other lines, and a certificate's own words,
    // which may hold line breaks, come after it.
    for (const line of this.#read().split('\n')) {
      const [, key, certified] = hostKeyLine.exec(line) ?? [];
      if (key !== undefined || certified !== undefined) return key ?? certified;
    }
    return undefined;
  }

  /** Answers the last lines but those that help only to debug ssh. */
  end(): readonly string[] {
    clearInterval(this.#emptying);
    const lines = this.#read().split('\n');
    const isSaid = (line: string): boolean => line !== '' && !/^(?:debug\d: |OpenSSH_)/.test(line);
    const trimmed = lines.map((line) => line.trim());
    return trimmed.filter(isSaid).slice(-maxLines);
  }

  /** Empty where another program removed it. Once the key is read, it only says what went wrong. */
  #read(): string {
    try {
      return readFileSync(this.file, 'utf8');
    } catch {
      return '';
    }
  }

  /** The other machine decides how many connections come by. */
  #emptyIfLong(): void {
    const size = statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > maxLog) truncateSync(this.file);
  }
}

/** Milliseconds between two looks at the size of the log. */
const lookEvery = 5000;

/** Bytes: far more than the beginning takes, where the host key stands. */
const maxLog = 1024 * 1024;
