/**
 * The layers of src/ (ARCHITECTURE.md, Layers): who may import whom, and why. Paths go from src/.
 *
 * Invariant: a table and nothing else; test/dependencies.test.ts reads it.
 */
export interface Layer {
  /** Beginnings of the paths in src/ that this layer may import, besides itself. */
  readonly mayImport: readonly string[];
  /** Packages it may import; `undefined`: any. */
  readonly packages?: readonly string[];
  readonly why: string;
}

/** What both ends of the socket stand on. */
export const base = [
  'base/text/',
  ...['errors', 'system-error', 'abort', 'paths', 'private-file', 'private-folder'].map(
    (name) => `base/${name}.ts`,
  ),
];
/** Time, and work that waits: functions of a clock that is passed in. */
const waiting = ['clock', 'backoff', 'shared-work', 'request-deadline', 'mutex', 'abort'].map(
  (name) => `base/${name}.ts`,
);

/** What keeps secrets, records and rows stands on. */
const keeping = [
  'base/text/',
  ...['errors', 'system-error', 'private-file', 'append-only', 'mutex', 'backoff'].map(
    (name) => `base/${name}.ts`,
  ),
];

/** By folder or single file; a file belongs to the longest name that fits. */
export const layers: Readonly<Record<string, Layer>> = {
  'base/': {
    mayImport: [],
    packages: [],
    why: 'everything stands on it, so it stands on nothing else',
  },
  'base/errors.ts': {
    mayImport: ['base/text/'],
    packages: [],
    why: 'everything imports it, so it imports nothing but the rules for text from outside',
  },
  'base/text/': {
    mayImport: [],
    packages: [],
    why: 'the one rule for text and URLs from outside, on every platform: each layer asks it',
  },
  'base/paths.ts': {
    mayImport: ['base/errors.ts'],
    packages: [],
    why: 'a function of the environment, for both ends of the socket',
  },
  'base/private-file.ts': {
    mayImport: ['base/errors.ts', 'base/system-error.ts'],
    packages: [],
    why: 'the one check of modes: both ends of the socket and every keeper of files use it',
  },
  'base/private-folder.ts': {
    mayImport: ['base/errors.ts', 'base/system-error.ts', 'base/private-file.ts'],
    packages: [],
    why: 'the one way to make and check a folder of the user’s, for both ends of the socket and for the home',
  },
  'base/append-only.ts': {
    mayImport: ['base/private-file.ts'],
    packages: [],
    why: 'how a file grows, for vault, records and audit log: none of them knows the others',
  },
  'base/windows/': {
    mayImport: ['base/errors.ts'],
    packages: ['koffi'],
    why: 'rights of the broker’s pipe and folders, and the keychain of one system: each by calls of that system',
  },
  'base/shield.ts': {
    mayImport: ['base/errors.ts'],
    packages: ['koffi'],
    why: 'what broker and keychain worker do to their own process, each of them alike',
  },
  'base/addresses.ts': {
    mayImport: ['base/errors.ts', 'base/text/'],
    packages: ['ipaddr.js'],
    why: 'the one check of addresses, for the broker’s connections and for the server roles',
  },
  'base/system/https-agent.ts': {
    mayImport: [
      'base/addresses.ts',
      'base/system/proxied-agent.ts',
      'base/system/proxy-variables.ts',
      'base/system/tls-trust.ts',
    ],
    packages: ['undici'],
    why: 'what a connection of ours trusts, for the broker and for its proxies alike',
  },
  'base/system/proxied-agent.ts': {
    mayImport: ['base/system/proxy-variables.ts', 'base/system/tls-trust.ts'],
    packages: ['undici'],
    why: 'one choice between a proxy and none, for the broker and the bridge alike',
  },
  'base/system/connection-faults.ts': {
    mayImport: [],
    packages: [],
    why: 'codes and nothing else: for the pure protocol and for the bridge alike',
  },
  'base/system/tls-trust.ts': {
    mayImport: ['base/system-error.ts', 'base/system/connection-faults.ts'],
    packages: [],
    why: 'what a TLS connection of ours trusts; the bridge loads it without the check of addresses',
  },
  'oauth/': {
    mayImport: ['base/errors.ts', 'base/text/', 'base/system/connection-faults.ts'],
    packages: ['openid-client', 'zod'],
    why: 'the protocol is pure: fetch and clock are passed in',
  },
  'server/': {
    mayImport: ['base/errors.ts', 'base/text/', 'server/', 'oauth/base/', 'oauth/discovery/'],
    packages: ['jose', 'zod', 'ipaddr.js'],
    why: 'the server roles owe nothing to the broker: of the client role they share its grammar and its bounds',
  },
  'server/storage/': {
    mayImport: ['base/errors.ts'],
    packages: ['pg', 'zod'],
    why: 'keeps what a server role must remember, and knows not what it says',
  },
  'server/authorization/': {
    mayImport: [
      'base/errors.ts',
      'base/text/',
      'base/addresses.ts',
      'base/system/https-agent.ts',
      'oauth/base/',
      'server/resource/base/address.ts',
      'server/resource/base/bounded-map.ts',
      'server/resource/base/public-key.ts',
      'server/resource/requests/rate-limit.ts',
      'server/resource/requests/transport.ts',
      'server/storage/',
    ],
    packages: ['jose', 'oidc-provider', 'openid-client', 'undici', 'zod'],
    why: 'an authorization server: with the broker it shares the rules of URLs and the one guard of addresses',
  },
  'server/third-party/': {
    mayImport: [
      'base/errors.ts',
      'oauth/base/',
      'server/authorization/',
      'server/resource/',
      'server/storage/',
    ],
    packages: ['jose', 'openid-client', 'zod'],
    why: 'an authorization server that is the client of another: it stands on both server roles',
  },
  'serve/': {
    mayImport: ['base/errors.ts', 'base/system-error.ts', 'base/private-file.ts', 'server/'],
    packages: ['@modelcontextprotocol/server', 'selfsigned', 'undici', 'zod'],
    why: 'two servers to try clients against: it stands on the server roles, and knows no broker',
  },
  'vault/': {
    mayImport: [
      ...keeping,
      'base/shield.ts',
      'base/system/child.ts',
      'base/system/parent.ts',
      'base/windows/credentials.ts',
    ],
    packages: ['zod', 'keytar'],
    why: 'keeps secrets and knows not what they are',
  },
  'store/': {
    mayImport: [...keeping, 'vault/'],
    packages: ['zod'],
    why: 'keeps records and knows not what they say',
  },
  'audit/': {
    mayImport: [...keeping, 'vault/', 'store/'],
    packages: ['zod'],
    why: 'writes down what others did, and asks none of them',
  },
  'broker/': {
    mayImport: [
      'base/errors.ts',
      'base/text/',
      'base/private-file.ts',
      'base/system/named-text.ts',
      'base/system/printed-text.ts',
      'base/system/tcp-owner.ts',
      ...waiting,
      'oauth/',
      'vault/',
      'store/',
      'audit/',
    ],
    packages: ['zod'],
    why: 'joins oauth and vault; who asks through which socket is not its business',
  },
  'ipc/wire/': {
    mayImport: base,
    packages: [],
    why: 'loaded by every local client: no schema library, no native code',
  },
  'ipc/': {
    mayImport: [...base, 'base/backoff.ts', 'base/system/changers.ts', 'base/windows/access.ts'],
    packages: ['zod', 'koffi'],
    why: 'carries requests and knows nothing of grants',
  },
  'client/': {
    mayImport: [...base, 'ipc/wire/'],
    packages: [],
    why: 'other programs load it: it brings nothing of the broker along',
  },
  'bridge/': {
    mayImport: [
      ...base,
      'base/system/connection-faults.ts',
      'base/system/proxied-agent.ts',
      'base/system/proxy-variables.ts',
      'base/system/tls-trust.ts',
      'ipc/wire/',
      'client/',
    ],
    packages: ['undici'],
    why: 'a local client: it brings nothing of the broker along, and only its command loads it',
  },
  'proxy/': {
    mayImport: [
      ...base,
      'base/addresses.ts',
      'base/shield.ts',
      'base/system/',
      'ipc/wire/',
      'ipc/peer/',
      'client/',
    ],
    packages: ['zod', 'undici'],
    why: 'a local client in a process of its own: it has what the socket gives it, and nothing of the broker',
  },
  'daemon/': {
    mayImport: [
      ...base,
      'base/addresses.ts',
      'base/near-name.ts',
      'base/shield.ts',
      'base/system/',
      'base/windows/access.ts',
      ...waiting,
      'oauth/',
      'vault/',
      'store/',
      'audit/',
      'broker/',
      'ipc/',
      'proxy/messages.ts',
      'proxy/worker-file.ts',
    ],
    packages: ['zod', 'conf', 'koffi', 'undici'],
    why: 'the composition root; hosts import it, it imports no host',
  },
  'setup/': {
    mayImport: [
      ...base,
      'base/system/program-variables.ts',
      'ipc/protocol/',
      'ipc/wire/',
      'client/endpoint-url.ts',
      'oauth/base/',
      'oauth/discovery/',
    ],
    packages: ['jsonc-parser', 'zod'],
    why: 'reads and writes files of other programs; the broker is handed in, as a command or the app may ask it',
  },
  'service/': {
    mayImport: [...base, 'ipc/wire/socket-path.ts'],
    packages: [],
    why: 'asks systemd, not the broker; a command and the app use it',
  },
  'cli/': {
    mayImport: [
      ...base,
      'base/shield.ts',
      'base/near-name.ts',
      'base/system/single.ts',
      'oauth/',
      'ipc/',
      'client/',
      'bridge/',
      'daemon/',
      'serve/',
      'setup/',
      'service/',
    ],
    packages: ['zod'],
    why: 'asks the broker over the socket, never past it; of daemon/ it starts what runs',
  },
  'cli/single.ts': {
    mayImport: ['base/system/child.ts', 'cli/', 'vault/keychain/keychain-worker.ts', 'proxy/proxy-worker.ts'],
    packages: [],
    why: 'one executable is every process of ours: it begins as the one that its first word names',
  },
};
