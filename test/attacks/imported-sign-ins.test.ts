/** Another program has the owner’s key, and an export of its own making that it imports: what the card says of it, and what is refused. */
import { describe, expect, it } from 'vitest';
import { parcelSchema } from '../../src/broker/moving/parcel.ts';
import type { Parcel } from '../../src/broker/moving/parcel.ts';
import { sealParcel } from '../../src/daemon/moving/sealed-parcel.ts';
import { type Desk, openDesk } from '../support/homes/desk-home.ts';
import { newHome, until } from '../support/home.ts';

const passphrase = 'aPassphrase-1234';
const issuer = 'https://login.evil.example';
const client = 'c'.repeat(16);

type Binding = Parcel['grants'][number]['secret']['binding'];

/** One sign-in of the attacker’s account, for the servers that it would like to pass for. */
const forged = (binding: Partial<Binding>, redirectUri = 'http://127.0.0.1:61234/callback'): Parcel => ({
  id: 'e'.repeat(32),
  registrations: [
    {
      record: {
        id: client,
        registration: {
          issuer,
          clientId: 'mallory',
          source: 'preregistered',
          tokenEndpointAuthMethod: 'none',
          redirectUri,
          registeredAt: 0,
        },
      },
    },
  ],
  grants: [
    {
      id: 'a'.repeat(16),
      secret: {
        refreshToken: 'of-mallory',
        registrationId: client,
        superseded: [],
        binding: {
          endpoints: ['https://notes.example/mcp'],
          resource: 'https://notes.example/mcp',
          issuer,
          account: 'work',
          registrationId: client,
          scope: [],
          requestedScope: [],
          createdAt: 0,
          ...binding,
        },
      },
    },
  ],
  settings: {},
});

async function importing({ line }: Desk, parcel: Parcel): Promise<unknown> {
  const sealed = await sealParcel(parcel, passphrase, { N: 2 ** 14, r: 8, p: 1 });
  return line.request('grant.import', { sealed, passphrase });
}

/** The refusal, or the card that came in its place. */
async function outcomeOf(desk: Desk, parcel: Parcel): Promise<unknown> {
  let refusal: unknown;
  importing(desk, parcel).catch((error: unknown) => {
    refusal = error;
  });
  return until('a refusal or a card', async () => refusal ?? (await desk.cards())[0]);
}

describe('an import by another program', () => {
  it('shows on its card each server that its tokens would go to, and the issuer’s host as it would be reached', async () => {
    const desk = await openDesk(newHome());
    const servers = ['https://notes.example/harmless', 'https://notes.example/bank'];
    const parcel = forged({ endpoints: servers, resource: 'https://notes.example', issuer });
    for (const { record } of parcel.registrations)
      record.registration = { ...record.registration, issuer: `${issuer}\\.login.example` };
    for (const { secret } of parcel.grants) secret.binding.issuer = `${issuer}\\.login.example`;
    const outcome = importing(desk, parcel);
    outcome.catch(() => undefined);
    const { id, signIns } = await desk.card();
    expect(signIns).toEqual(
      servers.map((resource) => ({ resource, issuer: `${issuer}/.login.example`, account: 'work' })),
    );
    await desk.answer(id, 'no');
    await expect(outcome).rejects.toMatchObject({ reason: 'consent_denied' });
  });

  it('is refused before any card where it names a server that is not of its resource, or a client whose codes go elsewhere', async () => {
    const desk = await openDesk(newHome());
    const behind = forged({
      endpoints: ['https://notes.example/mcp', 'https://bank.example/mcp'],
      resource: 'https://bank.example/mcp',
    });
    expect(await outcomeOf(desk, behind)).toMatchObject({ reason: 'resource_mismatch' });
    const elsewhere = forged({}, 'http://login.evil.example:61234/callback');
    expect(await outcomeOf(desk, elsewhere)).toMatchObject({ reason: 'insecure_url' });
  });

  it('is refused where one of its names would make every list of grants unreadable', () => {
    const long = 'x'.repeat(5000);
    for (const binding of [
      { account: long },
      { scope: [long] },
      { resource: `https://notes.example/${long}` },
      { endpoints: [`https://notes.example/${long}`] },
      { issuer: `${issuer}/${long}` },
      { createdAt: -1 },
    ])
      expect(parcelSchema.safeParse(forged(binding)).success, Object.keys(binding)[0]).toBe(false);
    expect(parcelSchema.safeParse(forged({})).success).toBe(true);
  });
});
