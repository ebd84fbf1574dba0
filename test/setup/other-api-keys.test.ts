/** Which entries stay because their server has another API key in Keyturn. */
import { expect, it } from 'vitest';
import type { AskOwner } from '../../src/setup/backup.ts';
import { leaveOtherApiKeys } from '../../src/setup/other-api-keys.ts';
import type { SurveyedConfig } from '../../src/setup/survey.ts';
import { KeyturnError } from '../../src/base/errors.ts';
import { endpoint, fileOf, switchOf } from './cursor.ts';

const fileWith = (...keys: readonly { header: string; value: string }[]): SurveyedConfig => ({
  config: fileOf('cursor'),
  findings: keys.map((key, index) => switchOf({ entry: `e${index}`, as: `a${index}`, key })),
  text: '',
  mark: '',
});

const [one, two] = [
  { header: 'X-Api-Key', value: 'one' },
  { header: 'X-Api-Key', value: 'two' },
];
const elsewhere = { header: 'Authorization', value: 'one' };

/** A broker that has this key for the server. */
const broker = (stored: string, refused?: string): AskOwner =>
  (async (method: string, params: object) => {
    if (method === refused) throw new KeyturnError('locked', 'the vault is locked');
    if (method === 'apiKey.list') return { apiKeys: [{ resource: endpoint }] };
    return { same: 'value' in params && params.value === stored };
  }) as AskOwner;

const kinds = async (file: SurveyedConfig, ask?: AskOwner): Promise<(string | undefined)[]> =>
  (await leaveOtherApiKeys([file], ask)).flatMap(({ findings }) =>
    findings.map((finding) => (finding.kind === 'left' ? finding.why : undefined)),
  );

it('leaves entries whose key isn’t that of the first, and says how to use it', async () => {
  const to = (as: string) =>
    expect.stringMatching(new RegExp(`^another entry.*: keyturn connect ${endpoint} --as ${as}$`));
  expect(await kinds(fileWith(one, two, one, elsewhere))).toEqual([undefined, to('a1'), undefined, to('a3')]);
});

it('leaves the entries whose key isn’t the stored one', async () => {
  const next = expect.stringMatching(/^Keyturn already has another.* --as a0$/);
  expect(await kinds(fileWith(one, two), broker('two'))).toEqual([next, undefined]);
});

it.each(['apiKey.list', 'apiKey.compare'])(
  'leaves the decision open if the broker refuses %s',
  async (method) => {
    expect(await kinds(fileWith(one), broker('two', method))).toEqual([undefined]);
  },
);
