/** The gate: what passes, what is refused, and what a lock waits for. */
import { describe, expect, test } from 'vitest';
import { Gate } from '../../src/vault/gate.ts';
import { memoryVault } from '../../src/vault/memory.ts';
import type { Vault } from '../../src/vault/base/vault.ts';
import { VaultWatch } from '../../src/vault/base/watch.ts';
import { vaultContract } from './contract.ts';

function gated(vault: Vault = memoryVault()): { gate: Gate; watch: VaultWatch } {
  const watch = new VaultWatch(() => 0);
  return { gate: new Gate(vault, watch), watch };
}

vaultContract('memory', () => gated().gate);

const calls: [string, (vault: Vault) => Promise<unknown>][] = [
  ['find', (vault) => vault.find('a')],
  ['read', (vault) => vault.read('a')],
  ['write', (vault) => vault.write('a', 'x')],
  ['remove', (vault) => vault.remove('a')],
  ['probe', (vault) => vault.probe()],
];

describe('a gate that is shut', () => {
  test.each(calls)('refuses %s with locked, and asks the vault nothing', async (_, call) => {
    let asked = 0;
    const counting = new Proxy(memoryVault(), {
      get: (vault, name) => {
        if (name !== 'kind') asked += 1;
        const value: unknown = Reflect.get(vault, name);
        return typeof value === 'function' ? value.bind(vault) : value;
      },
    });
    const { gate, watch } = gated(counting);
    await gate.shut();
    await expect(call(gate)).rejects.toMatchObject({ reason: 'locked', hint: 'keyturn unlock' });
    expect(asked).toBe(0);
    expect(watch.state).toMatchObject({ state: 'locked', what: 'the vault is locked' });
  });

  test('says that a vault without a passphrase is new', async () => {
    const { gate, watch } = gated();
    await gate.shut({ isNew: true });
    await expect(gate.find('a')).rejects.toMatchObject({ reason: 'locked' });
    expect(watch.state.state).toBe('new');
  });

  test('waits for the calls that had passed before', async () => {
    const vault = memoryVault();
    const held = Promise.withResolvers<void>();
    const { gate } = gated({
      ...vault,
      kind: 'memory',
      find: async (id) => {
        await held.promise;
        return vault.find(id);
      },
    });
    const found = gate.find('a');
    let isShut = false;
    const shut = gate.shut().then(() => (isShut = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isShut).toBe(false);
    held.resolve();
    await shut;
    expect(await found).toBeUndefined();
  });

  test('opens to what the vault held', async () => {
    const { gate, watch } = gated();
    await gate.write('a', 'kept');
    await gate.shut();
    gate.open();
    expect(await gate.read('a')).toBe('kept');
    expect(watch.state.state).toBe('open');
  });
});

describe('while a person is asked', () => {
  test('everybody else is refused at once, and afterwards things are as they were', async () => {
    const { gate, watch } = gated();
    const putBack = gate.hold();
    await expect(gate.find('a')).rejects.toMatchObject({ reason: 'locked', trouble: 'waiting' });
    expect(watch.state.state).toBe('waiting');
    putBack();
    expect(await gate.find('a')).toBeUndefined();
  });

  test('a vault that is open goes on serving', async () => {
    const { gate } = gated();
    await gate.write('a', 'kept');
    gate.hold();
    expect(await gate.read('a')).toBe('kept');
  });

  test('a gate that was shut stays so if that fails', async () => {
    const { gate, watch } = gated();
    await gate.shut();
    const putBack = gate.hold();
    expect(watch.state.state).toBe('locked');
    putBack();
    await expect(gate.find('a')).rejects.toMatchObject({ trouble: 'locked' });
  });
});
