/** What tests of the broker's records have in place of a network: one endpoint and the sign-ins there. */
import type { SignIn } from '../../src/broker/records/sign-in.ts';
import type { Surroundings } from './rig.ts';

const endpoint = 'https://notes.example/mcp';

/** Nothing here is fetched, and no page is opened. */
export const nowhere: Surroundings = {
  endpoint,
  fetch: () => Promise.reject(new Error('nothing is fetched here')),
  visit: () => Promise.reject(new Error('no page is opened here')),
};

/** An active sign-in of that endpoint. */
export const signInOf = (account: string, fields: Partial<SignIn> = {}): Omit<SignIn, 'id'> => ({
  endpoints: [endpoint],
  resource: endpoint,
  issuer: 'https://login.example',
  account,
  subject: null,
  registrationId: 'a'.repeat(16),
  scope: ['read'],
  requestedScope: [],
  state: { kind: 'active' },
  hasRefreshToken: true,
  createdAt: 0,
  ...fields,
});
