/** Which permissions are more than a program had. */
import { describe, expect, it } from 'vitest';
import { widens } from '../../src/daemon/widening.ts';

describe('a permission', () => {
  const resource = 'https://notes.example/mcp';
  const clients = [
    {
      clientId: 'c1',
      name: 'editor',
      pairedAt: 0,
      permissions: [{ resource, decision: 'allow' as const, scope: 'read write', until: 1000 }],
    },
  ];
  const wanted = { client: 'editor', resource, decision: 'allow' as const, scope: 'read', until: 500 };

  it('is no wider where it asks for less, or denies', () => {
    expect(widens(clients, wanted)).toBe(false);
    expect(widens(clients, { ...wanted, client: 'c1', scope: 'write read', until: 1000 })).toBe(false);
    expect(widens([], { ...wanted, decision: 'deny' })).toBe(false);
  });

  it.each([
    ['for another program', { client: 'other' }],
    ['for another server', { resource: 'https://mail.example' }],
    ['with a further scope', { scope: 'read admin' }],
    ['with any scope', { scope: undefined }],
    ['for longer', { until: 1001 }],
    ['for ever', { until: undefined }],
    ['with a limit that is not known here', { lease: 'longer' }],
  ])('is wider %s', (_how, change) => {
    expect(widens(clients, { ...wanted, ...change })).toBe(true);
  });
});
