/** What tests of the broker's records have in place of a network: one endpoint and the grants there. */
import type { Grant } from '../../src/broker/records/grant.ts';
import type { Surroundings } from './rig.ts';

const endpoint = 'https://notes.example/mcp';

/** Nothing here is fetched, and no page is opened. */
export const nowhere: Surroundings = {
  endpoint,
  fetch: () => Promise.reject(new Error('nothing is fetched here')),
  visit: () => Promise.reject(new Error('no page is opened here')),
};

/** An active grant of that endpoint. */
export const grantOf = (account: string, fields: Partial<Grant> = {}): Omit<Grant, 'id'> => ({
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
