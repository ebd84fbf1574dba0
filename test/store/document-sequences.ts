/** Random sequences of changes, kills, a vault that is away, and files and keychains put back: what was answered holds. */
import { existsSync } from 'node:fs';
import { expect, vi } from 'vitest';
import { chances } from '../support/chances.ts';
import { add, DocumentHome, namesOf, type Opened } from './document-home.ts';

const steps = 12;

/** The keychain of a moment, with the newest file and the denials that held then. */
interface Moment {
  readonly keychain: ReadonlyMap<string, string>;
  readonly newest: string;
  readonly answered: readonly string[];
}

/** A home whose attacker has every file that was ever there; the owner has backups of the keychain. */
class Sequence {
  readonly home = new DocumentHome();
  readonly files: string[] = [];
  /** Denials whose answer said that the vault knows them. */
  answered: string[] = [];
  readonly moments: Moment[] = [];
  newest = '';
  broker: Opened | undefined;

  async start(): Promise<void> {
    this.home.vault.away = false;
    this.broker = await this.home.start();
    const { trouble } = this.broker.document;
    if (trouble === undefined) {
      this.newest = this.read();
      return;
    }
    // The owner puts the newest one back.
    this.home.text = this.newest;
    this.broker = await this.home.start();
    expect(this.broker.document.trouble).toBeUndefined();
  }

  async change(name: string, denies: boolean): Promise<void> {
    const { list, document } = this.broker ?? (await this.home.start());
    const before = this.read();
    await list.change(add(denies ? { name, denies } : { name })).catch(() => undefined);
    this.keep(before);
    const isStored = this.read().includes(`"${name}"`);
    if (denies && isStored && !document.isOwed) this.answered.push(name);
  }

  /** The broker is killed when it writes the vault: before the file, if a number was owed, else after it. */
  async cutOff(name: string): Promise<void> {
    const before = this.read();
    const { vault } = this.home;
    vault.calls.length = 0;
    vault.writes = 'hangs';
    const refused = this.broker?.list.change(add({ name })).catch(() => undefined);
    await Promise.race([refused, vi.waitUntil(() => vault.calls.includes('write'), { interval: 1 })]);
    this.keep(before);
    await this.start();
  }

  read(): string {
    return existsSync(this.home.file) ? this.home.text : '';
  }

  /** A broker has written a file since `before`. */
  keep(before: string): void {
    if (this.read() === before) return;
    this.newest = this.read();
    this.files.push(this.newest);
  }

  note(): void {
    const { newest, answered, home } = this;
    this.moments.push({ keychain: new Map(home.vault.items), newest, answered: [...answered] });
  }

  /** What was answered since may be undone. */
  async goBack({ keychain, newest, answered }: Moment): Promise<void> {
    this.home.vault.items.clear();
    for (const [name, item] of keychain) this.home.vault.items.set(name, item);
    this.newest = newest;
    this.answered = [...answered];
    await this.start();
  }
}

/** Throws if an answered denial doesn't hold, or if neither the newest file nor the keychain's own opens the home. */
export async function runSequence(seed: number): Promise<void> {
  const [chance, one] = [chances(seed), new Sequence()];
  const below = (end: number): number => Math.floor(chance() * end);
  await one.start();
  await one.change('first', false);
  for (let step = 0; step < steps; step += 1) {
    one.note();
    const name = `${step}`;
    const act = below(7);
    if (act < 2) await one.change(name, act === 0);
    if (act === 2) one.home.vault.away = below(2) === 0;
    if (act === 3 && !one.home.vault.isAway) await one.cutOff(name);
    if (act === 4 || act === 5) one.home.text = one.files[below(one.files.length)] ?? '';
    if (act === 4) await one.start();
    const back = act === 6 ? one.moments[below(one.moments.length)] : undefined;
    if (back) await one.goBack(back);
    const decides = one.broker ? namesOf(one.broker) : [];
    expect(decides, `seed ${seed}, step ${step}`).toEqual(expect.arrayContaining(one.answered));
  }
}
