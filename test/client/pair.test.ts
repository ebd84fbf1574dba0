/** Pairing, with the real server. */
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import { appKeyFile, readAppKeyFile } from '../../src/client/app-key-file.ts';
import { pair } from '../../src/client/pair.ts';
import { startRig } from '../ipc/rig.ts';

describe('pairing', () => {
  test('stores a key that at once opens the broker', async () => {
    const confirmed: string[] = [];
    const codes: string[] = [];
    const rig = await startRig({
      pair: async ({ code }) => {
        codes.push(code);
        rig.enrol('new-client');
        const key = rig.keys.get('new-client');
        if (!key) throw new Error('no key');
        return async () => ({ appId: 'new-client', key });
      },
      confirmPaired: async (appId) => void confirmed.push(appId),
    });
    const shown: string[] = [];
    const identity = await pair({ name: 'editor', onCode: (code) => shown.push(code), paths: rig.paths });
    expect(shown).toEqual(codes);
    expect(confirmed).toEqual(['new-client']);
    expect(readAppKeyFile(appKeyFile(rig.paths, 'editor'))).toEqual(identity);
    (await connect({ name: 'editor', paths: rig.paths })).close();
  });

  test('takes the key back when the hello with it fails', async () => {
    const rig = await startRig({
      pair: async () => {
        rig.enrol('new-client');
        const key = rig.keys.get('new-client');
        rig.keys.clear();
        if (!key) throw new Error('no key');
        return async () => ({ appId: 'new-client', key });
      },
    });
    const pairing = pair({ name: 'editor', onCode: () => {}, paths: rig.paths });
    await expect(pairing).rejects.toMatchObject({ reason: 'unpaired' });
    expect(existsSync(appKeyFile(rig.paths, 'editor'))).toBe(false);
  });

  test('stores nothing after a denial', async () => {
    const rig = await startRig();
    const pairing = pair({ name: 'editor', onCode: () => {}, paths: rig.paths });
    await expect(pairing).rejects.toMatchObject({ reason: 'pairing_denied' });
    expect(existsSync(appKeyFile(rig.paths, 'editor'))).toBe(false);
  });

  test.each([
    ['it is aborted', (abort: AbortController) => abort.abort(new Error('enough'))],
    ['what takes the code throws', () => expect.fail('enough')],
  ])('withdraws the card when %s, and says why', async (_when, onCode) => {
    const withdrawn = Promise.withResolvers<void>();
    const rig = await startRig({
      pair: async ({ signal }) => {
        signal.addEventListener('abort', () => withdrawn.resolve());
        return new Promise(() => {});
      },
    });
    const abort = new AbortController();
    const pairing = pair({
      name: 'editor',
      onCode: () => onCode(abort),
      signal: abort.signal,
      paths: rig.paths,
    });
    await expect(pairing).rejects.toThrow('enough');
    await withdrawn.promise;
  });
});
