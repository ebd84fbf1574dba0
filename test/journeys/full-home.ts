/**
 * Fills a home with grants and programs, as years would.
 *
 * Invariant: the broker's own code writes every record, with its MAC, to the home's files; nothing stays
 * in memory, since that broker has stopped before the app starts.
 */
import type { TestHome } from '../support/home.ts';
import { brokerOf } from './connected-home.ts';

export interface Fullness {
  readonly grants: number;
  readonly programs: number;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** `https://server-N.example/mcp` and `program-N`; each program may use the server of its number. */
export async function fillHome(home: TestHome, { grants, programs }: Fullness): Promise<void> {
  const daemon = await brokerOf(home);
  const { parts } = daemon.broker;
  const createdAt = Date.now();
  try {
    await parts.clients.verify();
    const clients = await Promise.all(
      numbers(programs).map((n) => parts.clients.add(`program-${n}`, createdAt)),
    );
    await Promise.all(clients.map(({ id }) => parts.clients.confirm(id)));
    await Promise.all(
      clients.map(({ id: clientId }, n) =>
        parts.permissions.set({ clientId, endpoint: endpointOf(n), decision: 'allow', createdAt }),
      ),
    );
    await Promise.all(
      numbers(grants).map((n) =>
        parts.grants.add({
          endpoints: [endpointOf(n)],
          resource: endpointOf(n),
          issuer: `https://login-${n % 7}.example`,
          account: 'alice',
          subject: null,
          registrationId: `registration-${n % 7}`,
          scope: ['notes:read', 'notes:write'],
          requestedScope: ['notes:read', 'notes:write'],
          state: { kind: 'active' },
          hasRefreshToken: false,
          createdAt,
        }),
      ),
    );
  } finally {
    await daemon.stop();
  }
}

const endpointOf = (n: number): string => `https://server-${n}.example/mcp`;
