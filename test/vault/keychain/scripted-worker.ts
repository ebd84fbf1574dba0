/** A keychain worker that follows a script, for what a real keychain can't do on demand. Its items are real. */
import type { Child } from '../../../src/base/system/child.ts';
import { requestSchema, type KeychainRequest } from '../../../src/vault/keychain/keychain-messages.ts';

/** What the keychain does with one request: obeys it, refuses it with these words, dies, or never answers. */
export type Act = 'obey' | 'hang' | 'die' | { readonly refuse: string };

export function scriptedKeychain() {
  const items = new Map<string, string>();
  const asked: KeychainRequest[] = [];
  const keychain = {
    /** Every request that reached a worker, in order. */
    asked,
    /** The names of its items. */
    items: () => [...items.keys()],
    /** What happens to the next requests. */
    act: (_request: KeychainRequest): Act => 'obey',
    spawn: (): Child => {
      const messages: ((message: unknown) => void)[] = [];
      const exits: (() => void)[] = [];
      const say = (message: unknown): void => queueMicrotask(() => messages.forEach((tell) => tell(message)));
      const worker: Child = {
        post(message) {
          const request = requestSchema.parse(message);
          asked.push(request);
          const act = keychain.act(request);
          if (act === 'hang') return;
          if (act === 'obey') say({ id: request.id, ok: true, value: perform(items, request) });
          else if (act === 'die') queueMicrotask(() => exits.forEach((tell) => tell()));
          else say({ id: request.id, ok: false, failure: 'keychain', message: act.refuse });
        },
        onMessage: (listener) => void messages.push(listener),
        onExit: (listener) => void exits.push(listener),
        kill: () => queueMicrotask(() => exits.forEach((tell) => tell())),
      };
      return worker;
    },
  };
  return keychain;
}

export type ScriptedKeychain = ReturnType<typeof scriptedKeychain>;

function perform(items: Map<string, string>, request: KeychainRequest): string | string[] | null {
  const { service } = request;
  if (request.op === 'list') {
    const names = [...items.keys()].filter((name) => name.startsWith(`${service} `));
    return names.map((name) => name.slice(service.length + 1));
  }
  const name = `${request.service} ${request.account}`;
  const shown = items.get(name) ?? null;
  if (request.op === 'set') items.set(name, request.value);
  if (request.op === 'delete') items.delete(name);
  if (request.op === 'replace' && shown === request.before) items.set(name, request.value);
  if (request.op === 'create' && shown === null) items.set(name, request.value);
  return items.get(name) ?? null;
}
