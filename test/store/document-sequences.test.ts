/** Random sequences of changes, kills, files put back and a vault that is away: what was answered holds. */
import { existsSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { add, DocumentHome, namesOf } from './document-home.ts';
import type { Opened } from './document-home.ts';

const sequences = 40;
const steps = 12;

/** Mulberry32: the same numbers for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below;
  };
}

/** A home whose attacker has every file that was ever there. */
class Sequence {
  readonly home = new DocumentHome();
  readonly files: string[] = [];
  /** Denials whose answer said that the vault knows them. */
  readonly answered: string[] = [];
  broker: Opened | undefined;

  async start(): Promise<void> {
    this.home.vault.away = false;
    this.broker = await this.home.start();
    const { trouble } = this.broker.document;
    if (trouble === undefined) return;
    // The owner puts the newest one back.
    this.home.text = this.files.at(-1) ?? '';
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
    if (this.read() !== before) this.files.push(this.read());
  }
}

it(`an answered denial holds, and the newest file opens the home, in ${sequences} random sequences`, async () => {
  for (let seed = 1; seed <= sequences; seed += 1) {
    const [below, one] = [random(seed), new Sequence()];
    await one.start();
    await one.change('first', false);
    for (let step = 0; step < steps; step += 1) {
      const name = `${step}`;
      const act = Math.floor(below(6));
      if (act < 2) await one.change(name, act === 0);
      if (act === 2) one.home.vault.away = below(2) < 1;
      if (act === 3 && !one.home.vault.isAway) await one.cutOff(name);
      if (act >= 4) one.home.text = one.files[Math.floor(below(one.files.length))] ?? '';
      if (act === 4) await one.start();
      const decides = one.broker ? namesOf(one.broker) : [];
      expect(decides, `seed ${seed}, step ${step}`).toEqual(expect.arrayContaining(one.answered));
    }
  }
});
