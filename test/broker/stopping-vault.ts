/** A vault in front of which a broker stops. */
import type { Vault } from '../../src/vault/base/vault.ts';

/** After `arm`, the broker stops before its call number `calls`: `stopped` resolves then, and the call waits for `release`. */
export function stoppingVault(calls: number) {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<'stopped'>();
  const end = Promise.withResolvers<never>();
  end.promise.catch(() => undefined);
  let left = Infinity;
  const counted = async <R>(call: () => Promise<R>): Promise<R> => {
    left -= 1;
    if (left >= 0) return call();
    stop('stopped');
    return end.promise;
  };
  const front = (vault: Vault): Vault => ({
    ...vault,
    get: (name) => counted(() => vault.get(name)),
    set: (name, text) => counted(() => vault.set(name, text)),
    delete: (name) => counted(() => vault.delete(name)),
    replace: (name, before, after) => counted(() => vault.replace(name, before, after)),
  });
  const release = (): void => end.reject(new Error('the broker was stopped'));
  return { front, stopped, arm: () => (left = calls), release };
}
