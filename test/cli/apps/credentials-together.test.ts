/** Several credentials for one command: what ages while the user answers for another one. */
import { describe, expect, it } from 'vitest';
import { type AppRequest, kinds } from '../../../src/cli/apps/asked.ts';
import type { Credential } from '../../../src/cli/apps/credential-within.ts';
import { credentialsTogether } from '../../../src/cli/apps/credentials-together.ts';

const start = Date.UTC(2026, 0, 1);

const request = (name: string): { readonly name: string; readonly asked: AppRequest } => ({
  name,
  asked: {
    as: undefined,
    params: {
      resource: `https://${name}.example/`,
      kinds,
      interaction: 'allow',
      minimumValidity: name === 'kept' ? 1 : 60,
    },
  },
});

/** A broker and a user. `answer`: how many seconds the user takes for a server; `lives`: how long its tokens live. */
function desk(answer: Readonly<Record<string, number>>, lives: Readonly<Record<string, number[]>>) {
  let now = start;
  const heard: string[] = [];
  const given = async (names: readonly string[]) =>
    credentialsTogether(
      names.map(request),
      async ({ params: { resource, interaction, minimumValidity } }) => {
        const name = new URL(resource).hostname.replace('.example', '');
        heard.push(`${name} ${interaction} ${minimumValidity ?? ''}`.trim());
        if (interaction === 'allow') now += (answer[name] ?? 0) * 1000;
        const lifetime = lives[name]?.shift();
        return lifetime === undefined ? keyOf(resource) : tokenOf(resource, now, lifetime, heard.length);
      },
      () => now,
    );
  return { heard, given };
}

const tokenOf = (resource: string, now: number, lifetime: number, turn: number): Credential => ({
  access_token: `${turn}`,
  token_type: 'Bearer',
  expires_at: Math.floor(now / 1000) + lifetime,
  expires_in: lifetime,
  scope: '',
  resource,
  account: 'ada',
  issuer: 'https://login.example',
  tokenId: `${turn}`,
});

const keyOf = (resource: string): Credential => ({
  kind: 'apiKey',
  apiKeyId: '0123456789abcdef',
  header: 'X-Key',
  value: 'key',
  resource,
});

describe('several credentials for one command', () => {
  it('asks again, without a question, for a token that aged during another’s', async () => {
    const { heard, given } = desk({ later: 250 }, { early: [300, 300], later: [300] });
    const tokens = (await given(['early', 'later'])).map(({ credential }) => credential);
    expect(heard).toEqual(['early allow 60', 'later allow 60', 'early never 60']);
    expect(tokens).toMatchObject([{ access_token: '3' }, { access_token: '2' }]);
  });

  it('lets each token be as old as its own request says', async () => {
    const { heard, given } = desk({}, { kept: [10], early: [60] });
    expect(await given(['kept', 'early'])).toHaveLength(2);
    expect(heard).toEqual(['kept allow 1', 'early allow 60']);
  });

  it('refuses where the newest token is too old, at first or after the others', async () => {
    const tooOld = {
      reason: 'token_invalid',
      message: expect.stringContaining('lives 59 s more') as unknown,
    };
    await expect(desk({}, { early: [59] }).given(['early'])).rejects.toMatchObject(tooOld);
    const { given } = desk({ later: 1 }, { early: [60, 59], later: [60] });
    await expect(given(['early', 'later'])).rejects.toMatchObject(tooOld);
  });
});
