/**
 * Which entries stay as they are because Keyturn has one API key for each server: the stored one, else that of the
 * first entry.
 *
 * Invariant: it only asks. Where the broker can't tell whether a key is the stored one, the entry isn't left.
 */
import { KeyturnError, shellWord } from '../base/errors.ts';
import type { AskOwner } from './backup.ts';
import type { FoundApiKey } from './entry.ts';
import type { Finding, Switch } from './plan.ts';
import { isSwitch, type SurveyedConfig, switchesIn } from './survey.ts';

type Place = Pick<Switch, 'endpoint' | 'as'>;

const next = ({ endpoint, as }: Place): string =>
  `For an entry that uses that one: keyturn connect ${shellWord(endpoint)} --as ${shellWord(as)}`;

export const anotherEntrys = (place: Place): string =>
  `another entry has another API key for this server, and Keyturn stores one. ${next(place)}`;

export const anotherStored = (place: Place): string =>
  `Keyturn already has another API key for this server. ${next(place)}`;

/** As far as it is known. */
type IsStored = (endpoint: string, key: FoundApiKey) => Promise<boolean | undefined>;

/** The same files, in which the entries with another key stay as they are. `ask`: of a broker that runs. */
export async function leaveOtherApiKeys(
  files: readonly SurveyedConfig[],
  ask?: AskOwner,
): Promise<readonly SurveyedConfig[]> {
  const switches = files.flatMap(switchesIn);
  if (!switches.some(({ key }) => key)) return files;
  const isStored = await storedKeys(ask);
  const first = new Map<string, string>();
  const reasons = new Map<Finding, string>();
  for (const entry of switches) {
    const { endpoint, key } = entry;
    if (!key) continue;
    const text = JSON.stringify(key);
    const isThere = await isStored(endpoint, key);
    if (isThere === false) reasons.set(entry, anotherStored(entry));
    else if ((first.get(endpoint) ?? text) !== text) reasons.set(entry, anotherEntrys(entry));
    else first.set(endpoint, text);
  }
  const look = (finding: Finding): Finding => {
    const why = reasons.get(finding);
    if (why === undefined || !isSwitch(finding)) return finding;
    const { entry, keyPath, gone, key } = finding;
    return { entry, keyPath, gone, kind: 'left', why, exposed: key ? [key.header] : [] };
  };
  return files.map((file) => ({ ...file, findings: file.findings.map(look) }));
}

async function storedKeys(ask: AskOwner | undefined): Promise<IsStored> {
  if (!ask) return async () => undefined;
  const listed = await unlessRefused(ask('apiKey.list', {}));
  return async (resource, key) =>
    listed?.apiKeys.some((known) => known.resource === resource)
      ? (await unlessRefused(ask('apiKey.compare', { resource, ...key })))?.same
      : undefined;
}

async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof KeyturnError) return undefined;
    throw error;
  }
}
