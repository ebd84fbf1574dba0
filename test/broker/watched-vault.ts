/** The real memory vault, with its calls recorded and, if a test says so, refused. */
import { KeyturnError } from '../../src/base/errors.ts';
import { memoryVault } from '../../src/vault/memory.ts';
import type { Vault } from '../../src/vault/base/vault.ts';

export interface WatchedVault extends Vault {
  /** `write grant.…`, `probe` and so on, in order; each is recorded when it has ended. */
  readonly done: string[];
  /** Calls of these names fail with `vault_unavailable` until the set is emptied. */
  readonly failing: Set<'probe' | 'write' | 'read'>;
}

export function watchedVault(): WatchedVault {
  const inner = memoryVault();
  const done: string[] = [];
  const failing = new Set<'probe' | 'write' | 'read'>();
  const check = (name: 'probe' | 'write' | 'read'): void => {
    if (failing.has(name)) throw new KeyturnError('vault_unavailable', 'the vault is out of order');
  };
  return {
    kind: inner.kind,
    done,
    failing,
    async find(id) {
      check('read');
      return inner.find(id);
    },
    async read(id) {
      check('read');
      return inner.read(id);
    },
    async write(id, secret) {
      check('write');
      await inner.write(id, secret);
      done.push(`write ${id}`);
    },
    async remove(id) {
      await inner.remove(id);
      done.push(`remove ${id}`);
    },
    async probe() {
      check('probe');
      await inner.probe();
      done.push('probe');
    },
    destroy: (ids) => inner.destroy(ids),
    close: () => inner.close(),
  };
}
