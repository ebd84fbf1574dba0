/** The administrator's policy: what its lists cover, and what of it is not understood. */
import { describe, expect, it } from 'vitest';
import { Policy, policySchema } from '../../../src/broker/records/policy.ts';

const policy = (content: object): Policy =>
  new Policy('/etc/keyturn/policy.json', policySchema.parse(content));
const refusal = expect.objectContaining({ reason: 'policy_refused' }) as unknown;

describe('a policy’s servers', () => {
  it.each([
    ['https://notes.example', 'https://notes.example/mcp'],
    ['https://notes.example/mcp', 'https://notes.example/mcp'],
    ['https://notes.example/mcp', 'https://notes.example/mcp/deep?page=2'],
    ['https://notes.example/mcp/', 'https://notes.example/mcp'],
    ['https://*.corp.example', 'https://a.b.corp.example/mcp'],
    ['https://notes.example:8443', 'https://notes.example:8443/mcp'],
  ])('%s covers %s', (allowed, endpoint) => {
    expect(() => policy({ resources: [allowed] }).refuseResource(endpoint)).not.toThrow();
  });

  it.each([
    ['https://notes.example', 'http://notes.example/mcp'],
    ['https://notes.example', 'https://notes.example.evil.example/mcp'],
    ['https://notes.example', 'https://notes.example:8443/mcp'],
    ['https://notes.example/mcp', 'https://notes.example/mcp2'],
    ['https://notes.example/mcp', 'https://notes.example/'],
    ['https://*.corp.example', 'https://corp.example/mcp'],
    ['https://*.corp.example', 'https://evilcorp.example/mcp'],
    ['https://*.corp.example', 'https://evil.example/x.corp.example'],
  ])('%s does not cover %s', (allowed, endpoint) => {
    expect(() => policy({ resources: [allowed] }).refuseResource(endpoint)).toThrow(refusal);
  });
});

it('an empty list allows nothing, and a missing one anything', () => {
  expect(() => policy({ resources: [] }).refuseResource('https://notes.example/mcp')).toThrow(refusal);
  expect(() => policy({}).refuseResource('https://notes.example/mcp')).not.toThrow();
  expect(() => policy({ issuers: [] }).refuseIssuer('https://login.example')).toThrow(refusal);
  expect(() => policy({ programs: [] }).refuseProgram({ name: 'cli' })).toThrow(refusal);
});

it('an issuer is compared as it stands, but for a closing slash', () => {
  const own = policy({ issuers: ['https://login.example/tenant'] });
  expect(() => own.refuseIssuer('https://login.example/tenant/')).not.toThrow();
  for (const other of [
    'https://login.example',
    'https://login.example/tenant/b',
    'https://LOGIN.example/tenant',
  ])
    expect(() => own.refuseIssuer(other)).toThrow(refusal);
});

it('a program counts by its file, never by its name, and the command line by its own', () => {
  const own = policy({ programs: ['/usr/bin/editor'] });
  expect(() => own.refuseProgram({ name: 'anything', executable: '/usr/bin/editor' })).not.toThrow();
  for (const other of [
    { name: '/usr/bin/editor' },
    { name: 'editor', executable: '/tmp/editor' },
    { name: 'cli', executable: '/usr/bin/editor' },
  ])
    expect(() => own.refuseProgram(other)).toThrow(refusal);
  expect(() => policy({ programs: ['cli'] }).refuseProgram({ name: 'cli' })).not.toThrow();
});

it.each([
  [{ issuer: ['https://login.example'] }],
  [{ issuers: 'https://login.example' }],
  [{ resources: ['notes.example'] }],
  [{ resources: ['https://*'] }],
  [{ resources: ['https://a.*.example'] }],
  [{ resources: ['https://notes.example/?x=1'] }],
  // Attack on a reader that looks for the star of a host anywhere.
  [{ resources: ['https://notes.example/x://*.example'] }],
  [{ issuers: ['https://notes.example/*'] }],
  [{ programs: ['editor'] }],
  [{ off: ['proxy'] }],
])('refuses %j as a whole', (content) => {
  expect(policySchema.safeParse(content).success).toBe(false);
});
