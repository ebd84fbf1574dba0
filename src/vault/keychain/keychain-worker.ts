/**
 * The child process that talks to the OS keychain: the only one that loads keytar (keytar.ts).
 *
 * keytar can crash, and can wait without end. So it runs in a process of its own, which the broker can kill and start
 * again. `findCredentials` crashes on locked items: it is asked at the end of a home only, once the keychain is open.
 * Invariant: one keytar call runs at a time, since each blocks a thread of Node's pool, and four would stop every file
 * read. This process ends with its broker.
 */
import { randomBytes } from 'node:crypto';
import { quoted } from '../../base/errors.ts';
import { mutex } from '../../base/mutex.ts';
import { shieldProcess } from '../../base/shield.ts';
import { hearParent, tellParent } from '../../base/system/parent.ts';
import { requestSchema, type KeychainAnswer, type KeychainRequest } from './keychain-messages.ts';
import { loadKeytar, type Keytar } from './keytar.ts';

/** Answers what the item shows at the end. */
async function perform(keytar: Keytar, request: KeychainRequest): Promise<string | string[] | null> {
  if (request.op === 'list')
    return (await keytar.findCredentials(request.service)).map(({ account }) => account);
  const { op, service, account } = request;
  const get = (name: string): Promise<string | null> => keytar.getPassword(service, name);
  if (op === 'set') await keytar.setPassword(service, account, request.value);
  else if (op === 'delete') await keytar.deletePassword(service, account);
  else if (op === 'replace') {
    const shown = await get(account);
    if (shown !== request.before) return shown;
    await keytar.setPassword(service, account, request.value);
  } else if (op === 'create') {
    if (!(await isOpen(keytar, service, request.probe))) return null;
    const shown = await get(account);
    if (shown !== null) return shown;
    await keytar.setPassword(service, account, request.value);
  }
  return get(account);
}

/** A locked keychain refuses to store, or takes the item and doesn't show it. */
async function isOpen(keytar: Keytar, service: string, probe: string): Promise<boolean> {
  // Random, so that an item that an earlier probe left doesn't count as this one's.
  const value = randomBytes(16).toString('base64url');
  await keytar.setPassword(service, probe, value);
  const shown = await keytar.getPassword(service, probe);
  await keytar.deletePassword(service, probe);
  return shown === value && (await keytar.getPassword(service, probe)) === null;
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
  // A request that doesn't parse has no id for an answer. The exception ends this process, which the broker notices.
  const request = requestSchema.parse(message);
  tellParent(await answer(request));
}

// The first request waits for the shield. A failed step isn't reported here: the broker shields itself and reports it.
const exclusive = mutex();
const shielded = exclusive(shieldProcess);
function hear(message: unknown): void {
  void exclusive(async () => {
    await shielded;
    await serve(message);
  });
}
hearParent(hear);
