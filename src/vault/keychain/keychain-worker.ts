/**
 * The child process that talks to the OS keychain: the only file that knows keytar.
 *
 * keytar can crash and can wait without end, so it runs apart from the broker, which kills this
 * process and starts another. `findCredentials` is never called: it crashes on locked items.
 * Invariant: one keytar call at a time, since each blocks a thread of the pool and four of them would
 * stop every file read; and this process never outlives its broker.
 */
import { quoted } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import { shieldProcess } from '../../base/shield.ts';
import { hearParent, tellParent } from '../../base/system/parent.ts';
import type { KeychainAnswer, KeychainRequest } from './keychain-messages.ts';
import { requestSchema } from './keychain-messages.ts';

/** The part of keytar that we use. Described here, since an optional dependency may be missing when this is compiled. */
interface Keytar {
  getPassword(service: string, account: string): Promise<string | null>;
  setPassword(service: string, account: string, password: string): Promise<void>;
  deletePassword(service: string, account: string): Promise<boolean>;
}

async function loadKeytar(): Promise<Keytar> {
  // A variable, so that the compiler doesn't look for a module that may not be installed.
  const name: string = 'keytar';
  const loaded = (await import(name)) as { readonly default: Keytar };
  return loaded.default;
}

async function perform(keytar: Keytar, request: KeychainRequest): Promise<string | boolean | null> {
  const { service, account } = request;
  switch (request.op) {
    case 'get':
      return keytar.getPassword(service, account);
    case 'set':
      await keytar.setPassword(service, account, request.value);
      return null;
    default:
      return keytar.deletePassword(service, account);
  }
}

function failed(request: KeychainRequest, failure: 'module' | 'keychain', error: unknown): KeychainAnswer {
  const text = error instanceof Error ? error.message : 'no reason given';
  return { id: request.id, ok: false, failure, message: quoted(text) };
}

async function answer(request: KeychainRequest): Promise<KeychainAnswer> {
  let keytar: Keytar;
  try {
    keytar = await loadKeytar();
  } catch (error) {
    return failed(request, 'module', error);
  }
  try {
    return { id: request.id, ok: true, value: await perform(keytar, request) };
  } catch (error) {
    return failed(request, 'keychain', error);
  }
}

async function serve(message: unknown): Promise<void> {
  // A request that doesn't parse has no id to answer to: the throw ends this process, which the broker notices.
  const request = requestSchema.parse(message);
  tellParent(await answer(request));
}

// The first request waits for it. What it can't do the broker's own process can't do either, and says so.
const exclusive = mutex();
const shielded = exclusive(shieldProcess);
function hear(message: unknown): void {
  void exclusive(async () => {
    await shielded;
    await serve(message);
  });
}
hearParent(hear);
