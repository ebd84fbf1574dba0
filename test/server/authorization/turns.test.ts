/** Whose turn it is to have a client's document fetched. */
import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../../src/base/errors.ts';
import { Turns } from '../../../src/server/authorization/clients/turns.ts';

const keys = 'https://company.example/keys';
const never = async (): Promise<never> => new Promise(() => undefined);

/** Turns of which so many strangers hold as many as they get. */
function heldBy(strangers: number, now = () => 0): Turns {
  const turns = new Turns([keys], now);
  for (let stranger = 0; stranger < strangers; stranger += 1)
    for (let number = 0; number < 5; number += 1)
      void turns
        .askedBy(`stranger ${stranger}`, async () =>
          turns.take(`https://${stranger}.example/${number}`, never),
        )
        .catch(() => undefined);
  return turns;
}

const take = async (turns: Turns, caller: string, url: string): Promise<string> =>
  turns.askedBy(caller, async () => turns.take(url, async () => 'read')).catch(reasonOf);

describe('turns', () => {
  it('AS-15: of one stranger are four at once, and leave others theirs', async () => {
    const turns = heldBy(1);
    expect(await take(turns, 'stranger 0', 'https://app.example/a')).toBe('rate_limited');
    expect(await take(turns, 'somebody', 'https://app.example/a')).toBe('read');
  });

  it('AS-15: of all strangers are fifty at once, and take none from known clients', async () => {
    const turns = heldBy(13);
    turns.know('https://known.example/app');
    const urls = ['https://app.example/a', 'https://known.example/app', keys];
    const answers = await Promise.all(urls.map(async (url) => take(turns, 'somebody', url)));
    expect(answers).toEqual(['rate_limited', 'read', 'read']);
  });
});
