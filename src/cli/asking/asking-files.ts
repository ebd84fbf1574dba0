/**
 * What processes share while somebody is asked: a lock, and a report of the process that asks. Processes that ask for
 * the same share one question. The pairing of an entry has a lock and a report of its own, whatever is asked for after
 * it.
 *
 * Invariant: the lock is the kernel's, so it ends with its process. The report holds no secret. It counts only while
 * the lock is held, and for those who waited for it.
 */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';
import { isReason, KeyturnError } from '../../base/errors.ts';
import type { HomePaths } from '../../base/paths.ts';
import { readPrivate, replaceFileAtOnce } from '../../base/private-file.ts';
import { makeFolder } from '../../base/private-folder.ts';
import { tryLock } from '../../daemon/home/single-instance.ts';
import type { Asked } from './asked.ts';

const text = z.string().max(2000);

const report = z.object({
  /** The six digits of a pairing that waits. */
  code: z
    .string()
    .regex(/^\d{6}$/)
    .optional(),
  refusal: z
    .object({
      reason: z.custom<KeyturnError['reason']>(isReason),
      message: text,
      hint: text.optional(),
      rule: text.optional(),
    })
    .optional(),
});

type Report = z.output<typeof report>;

export class AskingFiles {
  readonly #lock: string;
  readonly #report: string;

  private constructor({ run }: HomePaths, key: readonly string[]) {
    const id = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 16);
    this.#lock = path.join(run, `asking-${id}.lock`);
    this.#report = path.join(run, `asking-${id}.json`);
  }

  /** Of one question. */
  static of(
    paths: HomePaths,
    { as = '', params: { resource, scope = '', account = '' } }: Asked,
  ): AskingFiles {
    return new AskingFiles(paths, [as, resource, scope, account]);
  }

  /** Of the pairing of an entry. */
  static ofPairing(paths: HomePaths, name: string): AskingFiles {
    return new AskingFiles(paths, [name]);
  }

  /** Undefined: another process holds it. */
  async tryLock(): Promise<(() => void) | undefined> {
    // At the far end of a forward no broker has made it.
    makeFolder(path.dirname(this.#lock));
    return tryLock(this.#lock);
  }

  write(told: Report): void {
    replaceFileAtOnce(this.#report, JSON.stringify(told));
  }

  clear(): void {
    rmSync(this.#report, { force: true });
  }

  /** Empty where there is none, or none that can be read. */
  async read(): Promise<Report> {
    const content = await readPrivate(this.#report).catch(() => undefined);
    const parsed = report.safeParse(jsonIn(content?.toString() ?? ''));
    return parsed.success ? parsed.data : {};
  }
}

function jsonIn(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

export function refusalIn({ refusal }: Report): KeyturnError | undefined {
  if (!refusal) return undefined;
  const { reason, message, hint, rule } = refusal;
  return new KeyturnError(reason, message, {
    hint,
    rule,
  });
}
