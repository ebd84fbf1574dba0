/**
 * The audit trail: who got what when, one JSON line each.
 *
 * Invariant: a row never holds a secret; URLs lose their query. Rows about authority (allow, pair,
 * revoke…) are on disk before the answer; rows about tokens follow within a second, so that a token
 * request does no disk I/O.
 */
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';

export interface AuditRow {
  readonly event:
    | 'token'
    | 'refused'
    | 'refresh'
    | 'login'
    | 'permission'
    | 'pair'
    | 'client'
    | 'revoke'
    | 'registration'
    | 'override'
    | 'settings';
  readonly outcome: string;
  readonly client?: string;
  readonly endpoint?: string;
  readonly resource?: string;
  readonly issuer?: string;
  readonly grant?: string;
  readonly scope?: readonly string[];
}

export interface Audit {
  /** Written within a second. */
  note(row: AuditRow): void;
  /** On disk when it resolves. */
  record(row: AuditRow): Promise<void>;
  /** Writes what is buffered. */
  flush(): Promise<void>;
}

/** How long a row about a token may wait in memory, in milliseconds. */
const noteDelay = 1000;
/** Rows held in memory at most; beyond it a row says how many were lost. */
const mostBuffered = 10_000;

export class AuditFile implements Audit {
  readonly #path: string;
  readonly #now: () => number;
  #buffer: string[] = [];
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string, now: () => number) {
    this.#path = file;
    this.#now = now;
  }

  note(row: AuditRow): void {
    if (this.#buffer.length >= mostBuffered) {
      this.#lost += 1;
      return;
    }
    this.#buffer.push(this.#line(row));
    this.#timer ??= setTimeout(() => void this.flush().catch(() => undefined), noteDelay).unref();
  }

  async record(row: AuditRow): Promise<void> {
    this.#buffer.push(this.#line(row));
    await this.flush();
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const write = this.#writing.then(() => this.#write());
    this.#writing = write.catch(() => undefined);
    await write;
  }

  async #write(): Promise<void> {
    const lines = this.#buffer;
    if (lines.length === 0) return;
    this.#buffer = [];
    if (this.#lost > 0) {
      lines.push(`${JSON.stringify({ time: this.#now(), event: 'lost', rows: this.#lost })}\n`);
      this.#lost = 0;
    }
    try {
      await this.#append(lines.join(''));
    } catch (error) {
      this.#buffer = [...lines, ...this.#buffer]; // not lost: the next flush tries again
      throw error;
    }
  }

  async #append(text: string): Promise<void> {
    await mkdir(path.dirname(this.#path), { recursive: true, mode: 0o700 });
    const file = await open(this.#path, 'a', 0o600);
    try {
      await file.appendFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  #line(row: AuditRow): string {
    const endpoint = row.endpoint === undefined ? {} : { endpoint: withoutQuery(row.endpoint) };
    const resource = row.resource === undefined ? {} : { resource: withoutQuery(row.resource) };
    return `${JSON.stringify({ time: this.#now(), ...row, ...endpoint, ...resource })}\n`;
  }
}

function withoutQuery(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : `${url.slice(0, query)}?…`;
}
