/** The real memory vault, with its calls recorded and, if a test says so, refused. */
import { KeyturnError } from '../../src/base/errors.ts';
import { memoryVault } from '../../src/vault/memory.ts';
import type { Vault } from '../../src/vault/base/vault.ts';

type Call = 'probe' | 'set' | 'get';

export interface WatchedVault extends Vault {
  /** `set s-…`, `probe` and so on, in order; each is recorded when it has ended. */
  readonly done: string[];
  /** Calls of these names fail with `vault_unavailable` until the set is emptied. */
  readonly failing: Set<Call>;
}

export function watchedVault(): WatchedVault {
  const inner = memoryVault();
  const done: string[] = [];
  const failing = new Set<Call>();
  const check = (name: Call): void => {
    if (failing.has(name)) throw new KeyturnError('vault_unavailable', 'the vault is out of order');
  };
  return {
    kind: inner.kind,
    done,
    failing,
    async get(name) {
      check('get');
      return inner.get(name);
    },
    async set(name, value) {
      check(name === 'probe' ? 'probe' : 'set');
      await inner.set(name, value);
      done.push(name === 'probe' ? 'probe' : `set ${name}`);
    },
    async replace(name, before, after) {
      check('set');
      return inner.replace(name, before, after);
    },
    async delete(name) {
      await inner.delete(name);
      if (name !== 'probe') done.push(`delete ${name}`);
    },
    root: () => inner.root(),
    destroy: (names) => inner.destroy(names),
    close: () => inner.close(),
  };
}
