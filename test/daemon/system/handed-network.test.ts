/** What of the broker's own way to servers leaves it: settings, and no secret in them. */
import { expect, it } from 'vitest';
import { handedNetwork } from '../../../src/daemon/system/handed-network.ts';
import { networkResult } from '../../../src/ipc/protocol/token-methods.ts';

const block = (kind: string, text: string) => `-----BEGIN ${kind}-----\n${text}\n-----END ${kind}-----`;

it('hands out the certificates of the authorities’ file, and no key', () => {
  const first = block('CERTIFICATE', 'AAAA');
  const second = block('CERTIFICATE', 'BBBB');
  const file = `# mine\n${first}\n${block('PRIVATE KEY', 'SECRET')}\n${block('EC PRIVATE KEY', 'SECRET')}\n${second}\n`;
  expect(handedNetwork({ authorities: file })).toEqual({ authorities: `${first}\n${second}` });
  expect(handedNetwork({ authorities: block('PRIVATE KEY', 'SECRET') })).toEqual({});
});

it('keeps user name and password of a proxy, and says so', () => {
  const handed = handedNetwork({
    httpsProxy: 'http://me:hidden@proxy.example:3128',
    noProxy: 'inner.example',
  });
  expect(handed).toEqual({
    httpsProxy: 'http://proxy.example:3128/',
    noProxy: 'inner.example',
    proxyCredentials: 'withheld',
  });
  expect(networkResult.parse(handed)).toEqual(handed);
  expect(handedNetwork({ httpsProxy: 'http://proxy.example:3128' })).toEqual({
    httpsProxy: 'http://proxy.example:3128/',
  });
});
