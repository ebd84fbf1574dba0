/**
 * The search for secrets in what crossed between the windows and the main process, over the double only.
 *
 * Invariant: what a user types (a passphrase, a client's secret, a pasted code) may go in and never comes back. Issued
 * secrets are known from the servers' connections (test/support/secrets.ts); keys and the vault's items are read here.
 */
import { z } from 'zod';
import { rootItem } from '../../src/vault/base/item-store.ts';
import { serviceOf } from '../../src/daemon/vault/secrets.ts';
import { keychainVault } from '../vault/vaults.ts';
import { double } from '../support/electron/electron-double.ts';
import type { TestHome } from '../support/home.ts';
import { namedItems } from '../support/homes/named-items.ts';
import { learnKeys } from '../support/secret-scan.ts';
import { type Finding, keepSecret, secretsIn, secretsKnown, told as toldOf } from '../support/secrets.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';

const typed: ReadonlySet<Finding['kind']> = new Set(['passphrase', 'client secret', 'private key', 'code']);

/** What crossed the bridge of one app, and the addresses that its pages asked for. */
type Crossed = Pick<typeof double, 'told' | 'asked' | 'leaked'>;

/** The lists of the app that runs: they grow until it ends, and the double begins others with the next start. */
export function crossedOf({ told, asked, leaked }: Crossed = double): Crossed {
  return { told, asked, leaked };
}

/** Throws, with every kind, where a secret crossed in one of these apps. Answers how many secrets were looked for. */
export async function scanBridge(home: TestHome, apps: readonly Crossed[]): Promise<number> {
  learnKeys(home.paths.config);
  if (home.env['KEYTURN_VAULT'] === 'keychain') await learnVault(home);
  const findings = [
    ...secretsIn('what the windows were told', JSON.stringify(apps.map(({ told }) => told))),
    ...secretsIn('what the windows asked', JSON.stringify(apps.map(({ asked }) => asked))).filter(
      ({ kind }) => !typed.has(kind),
    ),
  ];
  if (findings.length > 0) throw new Error(`secrets crossed the bridge:\n${toldOf(findings)}`);
  const leaked = apps.flatMap((app) => app.leaked);
  if (leaked.length > 0) throw new Error(`a page asked for ${leaked.join(', ')}`);
  return secretsKnown();
}

/** The tokens in a sign-in's item: what stands beside them in it, the windows may be told. */
const signInItem = z.object({
  refreshToken: z.string().optional(),
  accessToken: z.object({ value: z.string() }).optional(),
  handedOut: z.array(z.object({ value: z.string() })).default([]),
});

function tokensIn(item: string): string[] {
  const { refreshToken, accessToken, handedOut } = signInItem.parse(JSON.parse(item));
  const values = [accessToken, ...handedOut].flatMap((token) => (token ? [token.value] : []));
  return refreshToken === undefined ? values : [refreshToken, ...values];
}

/** The root key, and every token that the home's sign-ins have in the vault. */
async function learnVault({ homeId, paths }: TestHome): Promise<void> {
  const vault = keychainVault({ service: serviceOf({ homeId }) }, { homeId, hadRoot: async () => true });
  try {
    const root = await vault.store.get(rootItem);
    if (root === undefined) return;
    keepSecret('root key', root);
    for (const name of namedItems(paths.state).filter((one) => one.startsWith('s-'))) {
      const item = await getIfAny(vault, name);
      for (const token of item === undefined ? [] : tokensIn(item)) keepSecret('refresh token', token);
    }
  } finally {
    await vault.close();
  }
}
