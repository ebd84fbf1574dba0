/**
 * What of the broker's own way to a server an app gets.
 *
 * Invariant: no secret. Of the CA file only the certificates, of a proxy's URL neither user name nor password.
 */
import type { AgentOptions } from '../../base/system/https-agent.ts';
import { KeyturnError } from '../../base/errors.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import type { NetworkResult } from '../../ipc/wire/network-messages.ts';

/** RFC 7468 §5.1. Such a file may hold a private key beside its certificates. */
const certificate = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;

/** Throws `file_unreadable` if an answer can't hold the certificates. */
export function handedNetwork({
  authorities = '',
  httpsProxy = '',
  noProxy = '',
}: Pick<AgentOptions, 'authorities' | 'httpsProxy' | 'noProxy'>): NetworkResult {
  const certificates = authorities.match(certificate)?.join('\n') ?? '';
  if (certificates.length > maxLength.authorities) {
    throw new KeyturnError('file_unreadable', 'The certificate authorities are too many to hand to an app.', {
      hint: 'Name a file with your own authorities alone: keyturn settings set extraAuthorities FILE',
    });
  }
  return {
    ...(certificates !== '' && { authorities: certificates }),
    ...proxyOf(httpsProxy),
    ...(httpsProxy !== '' && noProxy !== '' && { noProxy }),
  };
}

function proxyOf(proxy: string): NetworkResult {
  const url = URL.parse(proxy);
  if (!url) return {};
  const hasCredentials = url.username !== '' || url.password !== '';
  url.username = '';
  url.password = '';
  return { httpsProxy: url.href, ...(hasCredentials && { proxyCredentials: 'withheld' }) };
}
