/**
 * The optional package that the authorization server stands on.
 *
 * Invariant: a program that imports Keyturn for something else never loads it, and a missing one is named with the
 * command that installs it.
 */
import { KeyturnError } from '../../../base/errors.ts';

export type OidcProvider = typeof import('oidc-provider');

/** Throws `invalid_request` where the package isn't installed. */
export async function loadOidcProvider(): Promise<OidcProvider> {
  try {
    return await import('oidc-provider');
  } catch (cause) {
    throw new KeyturnError(
      'invalid_request',
      'The package oidc-provider, which this server needs, is not installed.',
      {
        hint: 'Run: npm install oidc-provider@9',
        cause,
      },
    );
  }
}
